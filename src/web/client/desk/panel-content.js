// What is in a panel. Pictures are drawn by the page. HTML and SVG stand in a frame that may do nothing: its sandbox has
// no permission at all (no script, no origin, no form, no window, no navigation of the page), and its policy
// fetches nothing. So they may show whatever text, style, and pictures as `data:` can show; a script in them does not run.

import { h } from "../dom.js";
import { fromBase64 } from "./outbox.js";

/** A page cannot ask such a frame how large its content is. */
const HTML_AUTO = { width: 400, height: 240 };
/** What CSS gives an SVG that does not say. */
const SVG_AUTO = { width: 300, height: 150 };
/** Larger pictures are drawn smaller: a canvas of this side is 64 MiB. */
const CANVAS_SIDE_MAX = 4096;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:";
const FORMATS = { jpg: "jpeg", svg: "svg+xml" };

export class Content {
  element;
  #kind;
  #changed;
  #drawn = null;
  #scheme = null;
  #natural;
  #size = { width: "auto", height: "auto" };
  /** Counts pictures, so that an older one that is decoded later is not shown. */
  #latest = 0;
  #isLoading = false;
  #next = null;

  /** @param changed it has another size now */
  constructor(kind, changed) {
    this.#kind = kind;
    this.#changed = changed;
    this.element = h("div", { class: "panel-content" });
    this.#natural = kind === "svg" ? SVG_AUTO : HTML_AUTO;
  }

  update({ data, format }, size) {
    const { scheme } = document.documentElement.dataset;
    const isText = this.#kind === "svg" || this.#kind === "html";
    if (data !== this.#drawn || (isText && scheme !== this.#scheme)) {
      this.#drawn = data;
      this.#scheme = scheme;
      if (this.#kind === "svg") this.#natural = svgSize(data);
      if (isText) this.#frame(page(this.#kind, data, scheme));
      else if (this.#kind === "image") this.#picture(data, format);
      else this.#draw(data);
    }
    this.size(size);
  }

  /** `{width, height}` in CSS pixels, or "auto". */
  size(size) {
    this.#size = size;
    const isText = this.#kind === "svg" || this.#kind === "html";
    const { width, height } = isText ? this.#framed(size) : size;
    this.element.style.width = width === "auto" ? "" : `${width}px`;
    this.element.style.height = height === "auto" ? "" : `${height}px`;
    this.element.classList.toggle("has-width", width !== "auto");
    this.element.classList.toggle("has-height", height !== "auto");
  }

  end() {
    this.#latest += 1;
    this.#next = null;
  }

  #framed({ width, height }) {
    const { width: w, height: h } = this.#natural;
    const scales = this.#kind === "svg" && w > 0 && h > 0;
    return {
      width: width !== "auto" ? width : scales && height !== "auto" ? (height * w) / h : w,
      height: height !== "auto" ? height : scales && width !== "auto" ? (width * h) / w : h,
    };
  }

  /** Each content has a frame of its own, which takes the place of the one before when it is complete: nothing flickers,
   *  and the browser's history has no entry of it. Of a burst only the last one is loaded. */
  #frame(html) {
    if (this.#isLoading) {
      this.#next = html;
      return;
    }
    this.#isLoading = true;
    const frame = h("iframe", { sandbox: "", referrerpolicy: "no-referrer", title: "Drawn by a program", srcdoc: html, class: "loading" });
    frame.addEventListener("load", () => {
      for (const other of [...this.element.children]) if (other !== frame) other.remove();
      frame.className = "";
      this.#isLoading = false;
      const next = this.#next;
      this.#next = null;
      if (next !== null) this.#frame(next);
    }, { once: true });
    this.element.append(frame);
  }

  #picture(data, format) {
    const mine = ++this.#latest;
    const image = h("img", { alt: "Drawn by a program", draggable: "false" });
    image.addEventListener("load", () => mine === this.#latest && this.#show(image));
    image.addEventListener("error", () => mine === this.#latest && this.#broken());
    image.src = `data:image/${subtype(format)};base64,${data}`;
  }

  async #draw(data) {
    const mine = ++this.#latest;
    let bitmap;
    try {
      bitmap = await createImageBitmap(new Blob([fromBase64(data)]));
    } catch {
      if (mine === this.#latest) this.#broken();
      return;
    }
    if (mine !== this.#latest) return bitmap.close();
    const scale = Math.min(1, CANVAS_SIDE_MAX / Math.max(bitmap.width, bitmap.height));
    const shown = this.element.querySelector("canvas");
    const canvas = shown ?? h("canvas", { role: "img", "aria-label": "Drawn by a program" });
    const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
    // Setting a side clears it, also to what it is.
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0, width, height);
    bitmap.close();
    if (!shown) this.#show(canvas);
    else this.#changed();
  }

  #show(element) {
    this.element.replaceChildren(element);
    this.size(this.#size);
    this.#changed();
  }

  #broken() {
    this.#show(h("p", { class: "panel-broken", text: "This picture cannot be shown." }));
  }
}

/** A whole document around what a program wrote. The policy comes first: nothing behind it can loosen it. Links are
 *  dead, since the frame could only show that they are refused. */
function page(kind, data, scheme) {
  const style = kind === "svg"
    ? "html,body{margin:0;height:100%;overflow:hidden}svg{display:block;width:100%;height:100%}"
    : "body{margin:8px;font:13px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}a{pointer-events:none}";
  return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><style>:root{color-scheme:${scheme === "dark" ? "dark" : "light"}}${style}</style>${data}`;
}

/** How large an SVG says that it is. */
function svgSize(text) {
  const tag = /<svg\b[^>]*>/i.exec(text)?.[0] ?? "";
  const attribute = (name) => new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`, "i").exec(tag)?.[1] ?? "";
  const px = (name) => (/^\s*\d*\.?\d+(px)?\s*$/.test(attribute(name)) ? Number.parseFloat(attribute(name)) : null);
  const [, , boxWidth, boxHeight] = attribute("viewBox").trim().split(/[\s,]+/).map(Number);
  const box = boxWidth > 0 && boxHeight > 0 ? { width: boxWidth, height: boxHeight } : null;
  const [width, height] = [px("width"), px("height")];
  if (width > 0 && height > 0) return { width, height };
  if (width > 0 && box) return { width, height: (width * boxHeight) / boxWidth };
  if (height > 0 && box) return { width: (height * boxWidth) / boxHeight, height };
  return box ?? { width: width || SVG_AUTO.width, height: height || SVG_AUTO.height };
}

/** A picture's format as a media subtype; it comes from a program, and browsers look into the bytes anyway. */
function subtype(format) {
  const name = (format ?? "png").toLowerCase().replace(/^image\//, "");
  return FORMATS[name] ?? (/^[a-z0-9.+-]{1,32}$/.test(name) ? name : "png");
}
