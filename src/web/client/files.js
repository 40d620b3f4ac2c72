// Files to and from a terminal's machine: dropped, pasted or picked ones go to where the program stands, and
// their paths are typed.

import { Backoff } from "./backoff.js";
import { ApiError, base, call } from "./server.js";

/** As the server takes them. */
const PIECE_BYTES = 256 << 10;
/** How often one piece is tried while the network is away. */
const TRIES_MAX = 10;

export class Files {
  #screen;
  #terminalId;

  /**
   * @param screen the Screen that files are dropped on, and into which their paths are typed
   * @param {() => string | null} terminalId the terminal it shows now
   */
  constructor(screen, terminalId) {
    this.#screen = screen;
    this.#terminalId = terminalId;
    const { box } = screen;
    let depth = 0;
    const shown = (change) => {
      depth = Math.max(0, depth + change);
      box.classList.toggle("dropping", depth > 0);
    };
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    box.addEventListener("dragenter", (event) => hasFiles(event) && shown(1));
    box.addEventListener("dragleave", (event) => hasFiles(event) && shown(-1));
    box.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
    box.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      shown(-depth);
      const items = Array.from(event.dataTransfer.items, (item) => ({ file: item.getAsFile(), entry: item.webkitGetAsEntry?.() }));
      if (items.some(({ entry }) => entry?.isDirectory)) screen.say("Folders cannot be sent, only files.");
      this.send(items.filter(({ file, entry }) => file && !entry?.isDirectory).map(({ file }) => file));
    });
  }

  /** Lets the user choose. */
  pick() {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.addEventListener("change", () => this.send([...input.files]));
    input.click();
  }

  /** Sends them one after the other, and types the paths of those that arrived. */
  async send(files) {
    const paths = [];
    for (const file of files) {
      try {
        const path = await this.#sendOne(file);
        if (path) paths.push(quoted(path));
      } catch (error) {
        this.#screen.say(`${file.name || "The file"} was not sent: ${error.message}`);
      }
    }
    if (paths.length > 0) this.#screen.paste(`${paths.join(" ")} `);
    this.#screen.focus();
  }

  async #sendOne(file) {
    const id = this.#terminalId();
    if (!id) throw new ApiError(0, "no terminal is open.");
    const place = `v1/terminals/${id}/files`;
    const name = file.name || `pasted.${file.type.split("/")[1] ?? "bin"}`;
    const stop = new AbortController();
    const shown = this.#screen.progress(name, () => stop.abort());
    let upload = null;
    try {
      upload = await call("POST", place, { name, bytes: file.size });
      const backoff = new Backoff();
      for (let tries = 0; !upload.done; ) {
        try {
          upload = await piece(`${place}/${upload.uploadId}`, upload.offset, file, stop.signal);
          shown.at(upload.offset / upload.bytes);
          tries = 0;
        } catch (error) {
          if (stop.signal.aborted) throw error;
          // The network went, or took the answer with it: the server knows how far it has come.
          if ((error.status !== 0 && error.status !== 409) || ++tries > TRIES_MAX) throw error;
          await new Promise((wait) => setTimeout(wait, backoff.next()));
          upload = await call("GET", `${place}/${upload.uploadId}`).catch((error) => {
            if (error.status === 0) return upload;
            throw error;
          });
        }
      }
      return upload.path;
    } catch (error) {
      if (upload) giveUp(`${place}/${upload.uploadId}`);
      if (stop.signal.aborted) return null;
      throw error;
    } finally {
      shown.end();
    }
  }
}

/** Nothing of it stays there. */
async function giveUp(path) {
  const backoff = new Backoff();
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const error = await call("DELETE", path).then(() => null, (error) => error);
    if (error?.status !== 0) return;
    await new Promise((wait) => setTimeout(wait, backoff.next()));
  }
}

async function piece(path, offset, file, signal) {
  let response;
  let body;
  try {
    body = await file.slice(offset, offset + PIECE_BYTES).arrayBuffer();
  } catch {
    throw new ApiError(-1, "the browser cannot read it any more.");
  }
  try {
    response = await fetch(`${base}${path}?offset=${offset}`, {
      method: "PUT", headers: { "content-type": "application/octet-stream" }, body, signal, cache: "no-store", redirect: "error",
    });
  } catch {
    throw new ApiError(0, "the server cannot be reached.");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, answer?.error ?? `the server answered ${response.status}.`);
  return answer;
}

/** As a shell reads one word. */
function quoted(path) {
  return /^[\w/.,:=@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Saves a terminal's text, its scrollback first, as a file of the browser's machine. */
export async function saveText(terminalId, name) {
  const { screen } = await call("GET", `v1/terminals/${terminalId}/screen?format=text`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([screen], { type: "text/plain;charset=utf-8" }));
  link.download = `${name.replace(/[^\p{L}\p{N} ._-]+/gu, "_").slice(0, 80) || "terminal"}.txt`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
