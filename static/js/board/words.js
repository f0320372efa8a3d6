// Small things that all parts of the board say and show alike.

import { shorten } from "../lib/did.js";
import { duration, number } from "../lib/text.js";

/** Writes `words` where something else stands; what stays the same costs nothing. */
export function put(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** A DID, without what all of its kind begin with, shortened in the middle. */
export const short = (did) => shorten(did.replace(/^did:(key|web):/, ""), 18, 6);

/** Whole seconds, and from a minute on what they amount to. */
export const seconds = (ms) =>
  ms < 60_000 ? `${number(Math.max(0, Math.floor(ms / 1000)))} s` : duration(ms);

/** Something has really moved, and is seen to. */
export function moved(element) {
  element.classList.remove("has-moved");
  requestAnimationFrame(() => element.classList.add("has-moved"));
}
