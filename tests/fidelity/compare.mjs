// The emulator's half of the test in main.rs. Each line on standard input is a question, each line on standard
// output its answer:
//   {"recording": {group, cols, rows, resizes, text}}  ->  {"cuts": [{end, group}]}
//   {"resets": [text, ...]}, one a cut                 ->  {"wrong": [{aspect: first difference}, ...]}
import readline from 'node:readline';
import { emulator, feed } from './emulator.mjs';
import { all, inSequence, seen, settled } from './describe.mjs';

const CUTS = { real: 5, demo: 2, feature: 2 };

/** Plays bytes from..to, with the resizes ({at, cols, rows}) that fall between. */
function play(term, { data, resizes }, from, to) {
  for (const { at, cols, rows } of resizes) {
    if (at < from || at > to || (at === from && from > 0)) continue;
    feed(term, data.subarray(from, at));
    term.resize(cols, rows);
    from = at;
  }
  return feed(term, data.subarray(from, to));
}

/** Places between two sequences, evenly spread; of a real program also one inside a sequence. */
function cutsOf(recording) {
  const { data, group } = recording, cuts = new Map();
  const term = emulator({ ...recording, scrollback: 0 });
  let at = 0, inside = false;
  const step = () => feed(term, data.subarray(at, ++at));
  for (let i = 1; i <= CUTS[group]; i++) {
    const wanted = Math.floor(data.length * i / CUTS[group]);
    if (wanted > at) feed(term, data.subarray(at, at = wanted));
    while (at < data.length && !settled(term)) step();
    cuts.set(at, settled(term) || group !== 'real' ? group : 'inside');
    if (group === 'real' && !inside && wanted >= data.length / 2) {
      inside = true;
      while (at < data.length && !inSequence(term)) step();
      let last = 0;
      while (at < data.length && inSequence(term)) last = at, step();
      if (last) cuts.set(last, 'inside');
    }
  }
  term.dispose();
  return [...cuts].map(([end, group]) => ({ end, group })).sort((a, b) => a.end - b.end);
}

/** Further output that brings to light what a reset forgot. */
const PROBES = (cols, rows) => ({
  text: 'lqx~[AB]', wrap: 'w'.repeat(cols + 5),
  scroll: Array.from({ length: rows + 3 }, (_, i) => `\r\nline ${i}`).join(''),
  region: '\x1b[999;1Ha\nb\x1b[1;1H\x1bMc', tabs: '\r\ta\tb\tc\x1b[Zd\r\x1b[3Ie',
  restore: '\x1b8r', otherScreen: '\x1b[?1049ln\x1b[?1049ha\x1b[?1049lm', corners: '\x1b[1;1Hf\x1b[999;999Hl',
  erase: '\x1b[K\x1b[A\x1b[1K\x1b[2B\x1b[L\x1b[3P', shifts: '\x0elqk\x0flqk\x1bnlqk\x1bolqk', joining: '\u0301x\x1b[3b',
});

/** The first difference of each aspect. */
function differences(T, R, say, out) {
  const left = say(T), right = say(R);
  for (const aspect in left) {
    if (left[aspect] === right[aspect]) continue;
    const a = left[aspect].split('\n'), b = right[aspect].split('\n');
    const at = a.findIndex((line, i) => line !== b[i]);
    out(aspect, `${at}: ${JSON.stringify(a[at])} became ${JSON.stringify(b[at])}`.slice(0, 400));
  }
}

function judge(recording, { end }, reset) {
  const { data } = recording;
  let { cols, rows } = recording;
  for (const size of recording.resizes) if (size.at <= end) ({ cols, rows } = size);
  const early = () => play(emulator(recording), recording, 0, end);
  // A client has a past of its own, which a reset must not leave anything of.
  const late = () => feed(feed(emulator({ cols, rows }), PAST), reset);
  const wrong = {};
  const check = (name, say, change) => {
    const T = early(), R = late();
    change?.(T);
    change?.(R);
    differences(T, R, say, (aspect, what) => { wrong[name ? `${name}: ${aspect}` : aspect] ??= what; });
    T.dispose();
    R.dispose();
  };
  check('', all);
  for (const [name, bytes] of Object.entries(PROBES(cols, rows))) check(name, seen, term => feed(term, Buffer.from(bytes)));
  check('narrower', seen, term => term.resize(Math.max(10, Math.floor(cols * 2 / 3)), rows));
  check('wider', seen, term => term.resize(cols + 37, rows + 3));
  if (end < data.length && recording.resizes.every(size => size.at <= end))
    for (const more of [256, 4096, data.length]) check(`${more} more bytes`, seen, term => feed(term, data.subarray(end, end + more)));
  return wrong;
}

const PAST = Buffer.from('past\r\n'.repeat(60) + '\x1b[?1049hthere\x1b[2;3r\x1b[?6h\x1b[?7l\x1b[4h\x1b[20h\x1b(0\x1b)0\x0e\x1b[31;44;1m'
  + '\x1b[3g\x1b7\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[5 q\x1b[?25l\x1b]8;;http://past\x1b\\\x1b]2;half a ti');

let recording, cuts;
for await (const line of readline.createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  let answer;
  if (question.recording) {
    recording = { ...question.recording, data: Buffer.from(question.recording.text) };
    answer = { cuts: cuts = cutsOf(recording) };
  } else {
    answer = { wrong: question.resets.map((reset, i) => judge(recording, cuts[i], Buffer.from(reset))) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
