// Small things that all parts of the board say and show alike.

import { shorten } from "../lib/did.js";
import { duration, number } from "../lib/text.js";

/** Writes `words` where something else stands; what stays the same costs nothing. */
export function put(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** A DID, without what all of its kind begin with, shortened in the middle. What tells it from others ends it. */
export function short(did, letters = 25) {
  const tail = Math.floor(letters * 0.4);
  return shorten(did.replace(/^did:(key|web):/, ""), letters - tail - 1, tail);
}

/** Whole seconds, and from a minute on what they amount to. */
export const seconds = (ms) =>
  ms < 60_000 ? `${number(Math.max(0, Math.floor(ms / 1000)))} s` : duration(ms);
