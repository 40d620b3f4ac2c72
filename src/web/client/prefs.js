// What this browser remembers of its user's wishes. Without storage (a private window) they last as long as the page.

const kept = new Map();

export function wish(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`wharf:${name}`)) ?? otherwise;
  } catch {
    return kept.get(name) ?? otherwise;
  }
}

export function setWish(name, value) {
  kept.set(name, value);
  try {
    localStorage.setItem(`wharf:${name}`, JSON.stringify(value));
  } catch {
    // It is kept above.
  }
}
