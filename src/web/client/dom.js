// Elements without a framework. Text that comes from programs only ever becomes text nodes and attributes here.

/** An element: `props` are attributes, `on...` listeners, `class`, and `text`. */
export function h(name, props = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") element.textContent = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Makes the children of `parent` those of `items`, in this order, and keeps the elements that are there. */
export function keyed(parent, items, keyOf, make, update) {
  const known = (parent.__keyed ??= new Map());
  const wanted = new Set(items.map(keyOf));
  for (const [key, element] of known) {
    if (wanted.has(key)) continue;
    element.remove();
    known.delete(key);
  }
  let before = null;
  for (const item of items) {
    const key = keyOf(item);
    let element = known.get(key);
    if (!element) known.set(key, (element = make(item)));
    const place = before ? before.nextSibling : parent.firstChild;
    if (place !== element) parent.insertBefore(element, place);
    update(element, item);
    before = element;
  }
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  sidebar: "M2.5 3.5h11v9h-11zM6.5 3.5v9",
  right: "M2.5 3.5h11v9h-11zM8 3.5v9",
  down: "M2.5 3.5h11v9h-11zM2.5 8h11",
  zoom: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5l-4.5 4.5M2.5 13.5l4.5-4.5",
  pin: "M10 2.5l3.5 3.5-2 .5-2.5 3v2.5l-5-5h2.5l3-2.5zM6.5 9.5l-4 4",
  folder: "M2 4.5h4l1.5 1.5H14v6.5H2z",
  branch: "M5 3v10M5 10c0-3 6-1.5 6-5M11 5V3.5",
  port: "M6.5 3.5H3v9.5h9.5V9.5M9 2.5h4.5V7M13.5 2.5L7.5 8.5",
  keyboard: "M1.5 4.5h13v7h-13zM4 7h.01M6.5 7h.01M9 7h.01M11.5 7h.01M5 9.3h6",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3L14 14",
  bell: "M4 11V7.5a4 4 0 0 1 8 0V11l1 1H3zM6.8 14h2.4",
  gear: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  check: "M3.5 8.5l3 3 6-7",
  play: "M5 3.5l7.5 4.5L5 12.5z",
  ring: "M8 4.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7",
  up: "M8 12.5V4M4.5 7.5L8 4l3.5 3.5",
  "down-arrow": "M8 3.5V12M4.5 8.5L8 12l3.5-3.5",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8 10.3h3.5",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** A button that shows an icon and says `label`. */
export function iconButton(name, label, props = {}) {
  return h("button", { type: "button", class: `tool ${props.class ?? ""}`, "aria-label": label, title: label, ...without(props, "class") }, icon(name));
}

function without(object, key) {
  const { [key]: _, ...rest } = object;
  return rest;
}
