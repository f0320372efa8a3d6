// Encodings and digests. Functions take and return Uint8Array unless the argument is `text`.

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export const utf8 = (text) => new TextEncoder().encode(text);

export function base64(bytes) {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export const base64url = (bytes) => base64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** Strict base64url without padding (RFC 7515); throws RangeError on a text that is not the encoding of its bytes. */
export function fromBase64url(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new RangeError("not base64url");
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  if (base64url(bytes) !== text) throw new RangeError("not canonical base64url");
  return bytes;
}

/** base58btc, as in `did:key`. Takes quadratic time, so it is for keys only. */
export function base58(bytes) {
  let number = 0n;
  for (const byte of bytes) number = number * 256n + BigInt(byte);
  let text = "";
  for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

/** The DID of an Ed25519 key: multicodec ed01 and the 32 bytes of the public key, in base58btc. */
export function didKey(publicKey) {
  if (publicKey.length !== 32) throw new RangeError("an Ed25519 public key has 32 bytes");
  return `did:key:z${base58(Uint8Array.of(0xed, 0x01, ...publicKey))}`;
}

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** The value of `Content-Digest` (RFC 9530) for a body. */
export const contentDigest = async (bytes) => `sha-256=:${base64(await sha256(bytes))}:`;
