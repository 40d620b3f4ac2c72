// Asks for the token when the server wants one. The token is tried first, then given to the server once
// as `?t=`, which turns it into a cookie that no script can read and takes it out of the address. Of a wrong one the
// server leaves `#wrong-token` there.

import { call } from "./server.js";

let shown = false;

/** Covers the page with a form. `reason` is the server's own word on why. */
export function askForToken(reason) {
  if (shown) return;
  shown = true;
  const form = document.createElement("form");
  form.className = "login";
  form.innerHTML = `
    <h1>This server needs a token</h1>
    <p>It printed a URL with <code>?t=</code> when it started; the token is what follows.</p>
    <label>Token <input name="token" type="password" autocomplete="current-password" autocapitalize="off" spellcheck="false" required></label>
    <p class="problem" role="alert"></p>
    <button class="button primary">Open</button>`;
  const problem = form.querySelector(".problem");
  problem.textContent = location.hash === "#wrong-token" ? "That token was not accepted." : "";
  form.title = reason ?? "";
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const token = form.elements.token.value.trim();
    problem.textContent = "";
    try {
      await call("GET", "v1/terminals", undefined, { authorization: `Bearer ${encodeURIComponent(token)}` });
      location.replace(`?t=${encodeURIComponent(token)}`);
    } catch (error) {
      problem.textContent =
        error.status === 401 ? "That token was not accepted." :
        error.status === 429 ? "Too many wrong tokens. Wait a minute." :
        error.message;
    }
  });
  const cover = document.createElement("div");
  cover.className = "login-page";
  cover.append(form);
  document.body.append(cover);
  form.elements.token.focus();
}
