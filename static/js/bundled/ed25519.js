// Source of static/dist/ed25519.js: Ed25519 for a browser whose WebCrypto does not have it. Verification is strict
// (RFC 8032, not ZIP 215), as in the service. The key is bytes in memory and is never stored.

import { keygenAsync, signAsync, verifyAsync } from "@noble/ed25519";

/** @returns {Promise<{publicKey: Uint8Array, sign: (bytes: Uint8Array) => Promise<Uint8Array>}>} */
export async function makeKey() {
  const { secretKey, publicKey } = await keygenAsync();
  return { publicKey, sign: (bytes) => signAsync(bytes, secretKey) };
}

/** Whether `signature` (64 bytes) is a signature of `bytes` by `publicKey` (32 bytes). */
export async function verify(signature, bytes, publicKey) {
  try {
    return await verifyAsync(signature, bytes, publicKey, { zip215: false });
  } catch {
    return false;
  }
}
