// Prints src/terminal/screen/width_table.rs: the widths of characters as the client counts them
// (xterm.js with its Unicode 11 addon).
// usage: node widths.mjs > ../../src/terminal/screen/width_table.rs
import { emulator } from './emulator.mjs';

const widths = emulator({ cols: 80, rows: 24 })._core.unicodeService;
const ranges = { 0: [], 2: [] };
let first = 0x20, width = 1;
for (let code = 0x20; code <= 0x110000; code++) {
  const next = code < 0x110000 ? widths.wcwidth(code) : -1;
  if (next === width) continue;
  ranges[width]?.push([first, code - 1]);
  [first, width] = [code, next];
}

const hex = n => '0x' + n.toString(16);
const table = (name, text, list) => `/// ${text}\npub(super) const ${name}: [(u32, u32); ${list.length}] = [
${list.map(([a, b]) => `    (${hex(a)}, ${hex(b)}),\n`).join('')}];\n`;
console.log(`//! Widths of characters in xterm.js with its Unicode 11 addon, printed by \`tests/fidelity/widths.mjs\`.

${table('ZERO', 'Characters that take no column.', ranges[0])}
${table('WIDE', 'Characters that take two columns.', ranges[2])}`.trimEnd());
