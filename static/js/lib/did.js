// did:key for Ed25519: multicodec ed01, then the 32 bytes of the public key, in base58btc.

import { base58 } from "./bytes.js";

/** @param {Uint8Array} publicKey 32 bytes */
export function didKey(publicKey) {
  if (publicKey.length !== 32) throw new RangeError("an Ed25519 public key has 32 bytes");
  return `did:key:z${base58(Uint8Array.of(0xed, 0x01, ...publicKey))}`;
}

/** Shortened in the middle, head and tail kept; short ones stay whole. */
export function shorten(text, head = 12, tail = 5) {
  return text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
}
