// The emulator whose screen decides what is right: xterm.js 6.0 with its Unicode 11 widths.
import headless from '@xterm/headless';
import unicode11 from '@xterm/addon-unicode11';

export function emulator({ cols, rows, scrollback = 1000 }) {
  const term = new headless.Terminal({ cols, rows, scrollback, allowProposedApi: true, logLevel: 'off' });
  term.loadAddon(new unicode11.Unicode11Addon());
  term.unicode.activeVersion = '11';
  return term;
}

/** Feeds synchronously; the public `write` would need a turn of the event loop for each piece. */
export function feed(term, bytes) {
  term._core.writeSync(bytes);
  return term;
}
