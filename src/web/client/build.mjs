// Makes ../dist from this folder and the installed packages: HTML as it is, everything else gzipped once
// with the most effort, under a folder named by the hash of its content, so that browsers may keep it.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../dist");
const own = /\.(js|css|svg|png|webmanifest)$/;
/** Stands beside the pages: a service worker reaches what is below it, and is known by its address. */
const worker = "worker.js";
const packages = {
  "vendor/xterm.mjs": "@xterm/xterm/lib/xterm.mjs",
  "vendor/xterm.css": "@xterm/xterm/css/xterm.css",
  "vendor/image.mjs": "@xterm/addon-image/lib/addon-image.mjs",
  "vendor/search.mjs": "@xterm/addon-search/lib/addon-search.mjs",
  "vendor/unicode11.mjs": "@xterm/addon-unicode11/lib/addon-unicode11.mjs",
  "vendor/web-links.mjs": "@xterm/addon-web-links/lib/addon-web-links.mjs",
  "vendor/webgl.mjs": "@xterm/addon-webgl/lib/addon-webgl.mjs",
  "vendor/LICENSE.txt": "@xterm/xterm/LICENSE",
};

/** The script's element, after links to all that it imports: they come at once instead of one round trip later each. */
function preloaded(script, up, entry) {
  const found = new Set();
  const follow = (name) => {
    if (found.has(name)) return;
    found.add(name);
    if (name.startsWith("vendor/")) return;
    const imports = files.get(name).toString().matchAll(/ from "(\.[^"]*)";$/gm);
    for (const [, next] of imports) follow(posix.join(posix.dirname(name), next));
  };
  follow(entry);
  found.delete(entry);
  return [...found].map((name) => `<link rel="modulepreload" href="${up}@ASSETS@/${name}">\n`).join("") + script;
}

const files = new Map();
const ours = ["", "desk/"].flatMap((folder) => readdirSync(join(here, folder)).map((name) => folder + name));
for (const name of ours.filter((name) => own.test(name) && name !== worker).sort()) {
  files.set(name, readFileSync(join(here, name)));
}
for (const [name, source] of Object.entries(packages)) {
  const text = readFileSync(join(here, "node_modules", source), "utf8");
  // The source maps stay behind.
  files.set(name, Buffer.from(text.replace(/^\/\/# sourceMappingURL=.*$/m, "")));
}

const hash = createHash("sha256");
for (const [name, bytes] of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
const assets = `assets/${hash.digest("hex").slice(0, 16)}`;

const made = new Map();
for (const name of readdirSync(here).filter((name) => name.endsWith(".html"))) {
  const page = readFileSync(join(here, name), "utf8").replace(/^<script type="module" src="(.*)@ASSETS@\/(.*)"><\/script>$/m, preloaded);
  made.set(name, Buffer.from(page.replaceAll("@ASSETS@", assets)));
}
made.set(worker, readFileSync(join(here, worker)));
for (const [name, bytes] of files) {
  made.set(`${assets}/${name}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION, memLevel: 9 }));
}

// An untouched folder keeps its times, and cargo has nothing to do.
const same = ([name, bytes]) => existsSync(join(dist, name)) && readFileSync(join(dist, name)).equals(bytes);
const count = existsSync(dist) ? readdirSync(dist, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).length : 0;
if (count === made.size && [...made].every(same)) process.exit();

const fresh = join(here, "node_modules/.dist");
rmSync(fresh, { recursive: true, force: true });
for (const [name, bytes] of made) {
  mkdirSync(dirname(join(fresh, name)), { recursive: true });
  writeFileSync(join(fresh, name), bytes);
}
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);
const total = [...made.values()].reduce((sum, bytes) => sum + bytes.length, 0);
console.error(`web client: ${made.size} files, ${(total / 1024).toFixed(0)} KiB`);
