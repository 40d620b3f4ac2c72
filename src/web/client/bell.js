// The bell: seen by a glow at the screen's edge, heard only if the user wants it.

import { wish } from "./prefs.js";

const GLOW_MS = 350;
/** A program that rings without end rings no faster. */
const BETWEEN_MS = 250;
const HERTZ = 660;
const SOUND_S = 0.12;

let sound = null;

export class Bell {
  #box;
  #last = -Infinity;
  #timer = 0;

  constructor(box) {
    this.#box = box;
  }

  ring() {
    const now = performance.now();
    if (now - this.#last < BETWEEN_MS) return;
    this.#last = now;
    this.#box.classList.add("bell");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#box.classList.remove("bell"), GLOW_MS);
    if (wish("bell-sound", false)) beep();
  }
}

export function beep() {
  sound ??= new AudioContext();
  const tone = sound.createOscillator();
  const volume = sound.createGain();
  volume.gain.setValueAtTime(0.08, sound.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + SOUND_S);
  tone.frequency.value = HERTZ;
  tone.connect(volume).connect(sound.destination);
  tone.start();
  tone.stop(sound.currentTime + SOUND_S);
}
