// Images in a terminal (sixel, iTerm), bounded. Loaded once the page has nothing better to do.

import { ImageAddon } from "./vendor/image.mjs";

/** One image, decoded. */
const PIXELS_MAX = 8 << 20;
/** One image, as it arrives. */
const BYTES_MAX = 8 << 20;
/** All of a terminal's, decoded, in MB; the oldest go. */
const STORED_MB = 48;

export function showImages(term) {
  term.loadAddon(new ImageAddon({
    pixelLimit: PIXELS_MAX,
    sixelSizeLimit: BYTES_MAX,
    iipSizeLimit: BYTES_MAX,
    storageLimit: STORED_MB,
  }));
}
