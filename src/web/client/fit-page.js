// Keeps the page in the part of the window that the on-screen keyboard leaves.

export function fitPage() {
  fit();
  addEventListener("resize", fit);
  visualViewport?.addEventListener("resize", fit);
  visualViewport?.addEventListener("scroll", fit);
}

function fit() {
  const { height, offsetTop } = visualViewport ?? { height: innerHeight, offsetTop: 0 };
  document.body.style.height = `${height}px`;
  document.body.style.transform = offsetTop > 0 ? `translateY(${offsetTop}px)` : "";
}
