// What an emulator shows and what it keeps in mind, as strings by aspect. Two emulators that give the same
// strings cannot be told apart by looking, by typing or by resizing.
// Internals of @xterm/headless 6.0.0 are read through _core; package.json pins that version.

const PALETTE_16 = 0x1000000, RGB = 0x3000000, COLOR_MODE = 0x3000000;
const COMBINED = 0x200000, CODE_POINT = 0x1fffff, EXTENDED = 0x10000000, UNDERLINE = 0x10000000;
const ON_TEXT = [                     // attributes, and whether an empty cell shows them
  ['fg', 0x8000000, 'bold', false], ['bg', 0x8000000, 'dim', false], ['bg', 0x4000000, 'italic', false],
  ['fg', 0x20000000, 'blink', false], ['fg', 0x40000000, 'hidden', false], ['fg', 0x4000000, 'inverse', true],
  ['fg', 0x80000000, 'strike', true], ['bg', 0x40000000, 'overline', true]];

function color(word) {                // the first 16 colours are the same ones however they were chosen
  const mode = word & COLOR_MODE;
  if (mode === 0) return '-';
  return mode === RGB ? '#' + (word & 0xffffff).toString(16).padStart(6, '0') : String(word & 0xff);
}

function style(fg, bg, extended, empty, linkOf) {
  const words = { fg, bg };
  const marks = ON_TEXT.filter(([word, bit]) => words[word] & bit);
  const lined = (fg & UNDERLINE) !== 0;
  const shown = !empty || lined || marks.some(mark => mark[3]);
  const parts = marks.filter(mark => shown && (!empty || mark[3])).map(mark => mark[2]);
  if (lined) {
    const kind = extended ? extended._ext >>> 26 & 7 || 1 : 1;
    const own = extended && extended.underlineColor & COLOR_MODE ? color(extended.underlineColor) : '';
    parts.push(`underline ${kind} ${own}`);
  }
  if (extended?.urlId) parts.push('link ' + (linkOf(extended.urlId)?.uri ?? ''));
  return `${shown ? color(fg) : ''}/${color(bg)} ${parts.join(' ')}`.trim();
}

function row(core, line, cols) {
  const linkOf = id => core._oscLinkService.getLinkData(id);
  let told = '', before;
  for (let col = 0; col < cols; col++) {
    const [content, fg, bg] = line._data.subarray(col * 3, col * 3 + 3);
    const width = content >>> 22;
    const text = content & COMBINED ? line._combined[col]
      : content & CODE_POINT ? String.fromCodePoint(content & CODE_POINT) : ' ';
    const look = style(fg, bg, bg & EXTENDED ? line._extendedAttrs[col] : undefined, text === ' ' && width === 1, linkOf);
    if (look !== before) told += `{${before = look}}`;
    told += width === 1 ? text : `${text}<${width}>`;
  }
  return told;
}

/** Rows `from`.. of a buffer; `wraps` says for each but the very first whether it continues the one above. */
function rows(core, buffer, from, count, wraps) {
  const told = [];
  for (let y = from; y < from + count; y++) {
    const line = buffer.lines.get(y);
    told.push((wraps && y > 0 && line.isWrapped ? '>' : '') + row(core, line, core.cols));
  }
  return told.join('\n');
}

const pen = attr => [style(attr.fg, attr.bg, attr.extended, false, () => undefined),
  attr.bg & 0x20000000 ? 'protected' : '', color(attr.extended.underlineColor)].join(' ');

const charset = set => set ? ['`', 'a', 'q', '#', '@', '[', '~'].map(c => set[c] ?? c).join('') : 'ascii';

function saved(buffer, cols) {
  return [Math.min(buffer.savedX, cols - 1), Math.max(buffer.savedY - buffer.ybase, 0),
    pen(buffer.savedCurAttrData), charset(buffer.savedCharset)].join(' ');
}

/** What is on the screen, without what is not seen. */
export function seen(term) {
  const core = term._core, { active, normal, alt } = core._bufferService.buffers;
  return {
    screen: rows(core, active, active.ybase, term.rows, false),
    behind: active === alt ? rows(core, normal, normal.ybase, term.rows, false) : '',
    which: active === alt ? 'alternate' : 'normal',
    cursor: `${active.x},${active.y}`,
    scrollbackLines: String(normal.ybase),
  };
}

/** Everything. */
export function all(term) {
  const core = term._core, { active, normal, alt } = core._bufferService.buffers;
  const input = core._inputHandler, chars = core._charsetService, mouse = core.coreMouseService;
  const { decPrivateModes, modes, isCursorHidden } = core.coreService;
  const url = input._curAttrData.extended.urlId;
  return {
    ...seen(term),
    screen: rows(core, active, active.ybase, term.rows, true),
    behind: active === alt ? rows(core, normal, normal.ybase, term.rows, true) : '',
    scrollback: rows(core, normal, 0, normal.ybase, true),
    shape: `${decPrivateModes.cursorStyle} ${decPrivateModes.cursorBlink} ${isCursorHidden} ${term.options.cursorBlink}`,
    modes: ['applicationCursorKeys', 'applicationKeypad', 'bracketedPasteMode', 'origin', 'reverseWraparound', 'sendFocus',
      'wraparound'].map(name => `${name}=${decPrivateModes[name]}`)
      .concat(`insert=${modes.insertMode}`, `convertEol=${term.options.convertEol}`).join(' '),
    mouse: `${mouse.activeProtocol} ${mouse.activeEncoding}`,
    pen: pen(input._curAttrData) + (url ? core._oscLinkService.getLinkData(url)?.uri ?? '' : ''),
    charsets: [chars.glevel, charset(chars.charset), ...[0, 1, 2, 3].map(g => charset(chars._charsets[g]))].join(' '),
    region: `${active.scrollTop},${active.scrollBottom}`,
    tabs: Array.from({ length: term.cols }, (_, col) => active.tabs[col] ? col : '').join(' '),
    saved: saved(active, term.cols),
    savedBehind: active === alt ? saved(normal, term.cols) : '',
  };
}

/** Between two sequences and two characters. */
export function settled(term) {
  const input = term._core._inputHandler;
  return !inSequence(term) && input._utf8Decoder.interim[0] === 0;
}

export function inSequence(term) {
  return term._core._inputHandler._parser.currentState !== 0;
}
