// Receipts are compact JWS (RFC 7515), EdDSA with Ed25519 (RFC 8037), and are verified here with the published keys
// only. A check is {id, ok, values}; `values` fill the text that explains it.

import { base64url, fromBase64url, sha256, utf8 } from "./bytes.js";

const KEYS = "/.well-known/jwks.json";
const TYPE = "intramedial-receipt+jwt";
let published = null;

/** The three parts of a JWS; header and claims are null if they cannot be decoded. */
export function decode(jws) {
  const [header, payload, signature, ...more] = jws.split(".");
  const json = (text) => {
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(fromBase64url(text)));
    } catch {
      return null;
    }
  };
  const whole = signature !== undefined && more.length === 0;
  return { whole, header: whole ? json(header) : null, claims: whole ? json(payload) : null };
}

/**
 * Verifies a receipt.
 * @param {string} jws
 * @param {{issuer: string, kid?: string, digest?: string, answer?: any}} expected what was sent and answered, as far as known
 * @returns {Promise<{ok: boolean, header, claims, reached: boolean, checks: {id: string, ok: boolean, values: object}[]}>}
 *   `reached`: the published keys could be fetched
 */
export async function verify(jws, expected) {
  const { header, claims } = decode(jws);
  const checks = [];
  const check = (id, ok, values = {}) => checks.push({ id, ok: Boolean(ok), values });

  const key = await publishedKey(header?.kid);
  const thumbprint = key ? await jwkThumbprint(key) : null;
  check("key", key && thumbprint === header.kid && (expected.kid ?? header.kid) === header.kid, {
    kid: header?.kid ?? "",
    url: expected.issuer + KEYS,
  });
  const proper = header?.alg === "EdDSA" && header?.typ === TYPE;
  check("signature", proper && key && (await signatureHolds(jws, key)));
  check("issuer", claims?.iss === expected.issuer, { found: String(claims?.iss), expected: expected.issuer });
  if (expected.digest) {
    const found = claims?.request?.digest;
    check("request", found === expected.digest, { found: String(found), expected: expected.digest });
  }
  if (expected.answer) {
    const { receipt: _, ...rest } = expected.answer;
    check("result", same(claims?.result, rest));
  }
  return { ok: checks.every((entry) => entry.ok), header, claims, checks, reached: published !== null };
}

async function publishedKey(kid) {
  const find = () => published?.find((key) => key.kid === kid && key.kty === "OKP" && key.crv === "Ed25519");
  // A key is published before it signs, so an unknown key is worth one more fetch.
  if (!find()) {
    try {
      const response = await fetch(KEYS, { cache: "no-cache", credentials: "omit" });
      published = (await response.json()).keys;
    } catch {
      published = null;
    }
  }
  return find() ?? null;
}

/** RFC 7638: the required members in alphabetical order. */
const jwkThumbprint = async ({ crv, kty, x }) =>
  base64url(await sha256(utf8(JSON.stringify({ crv, kty, x }))));

async function signatureHolds(jws, { crv, kty, x }) {
  try {
    const [header, payload, signature] = jws.split(".");
    const [bytes, signed] = [fromBase64url(signature), utf8(`${header}.${payload}`)];
    try {
      const key = await crypto.subtle.importKey("jwk", { crv, kty, x }, "Ed25519", false, ["verify"]);
      return await crypto.subtle.verify("Ed25519", key, bytes, signed);
    } catch (error) {
      if (error.name !== "NotSupportedError") return false;
      const library = await import("../../dist/ed25519.js");
      return await library.verify(bytes, signed, fromBase64url(x));
    }
  } catch {
    return false;
  }
}

/** Equal as JSON values: members in any order, numbers by value. */
export function same(a, b) {
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]))
  );
}

/**
 * The same receipt with one byte of its claims changed: the last digit of `iat`, so that the forgery still looks like a
 * receipt.
 */
export function changeOneByte(jws) {
  const [header, payload, signature] = jws.split(".");
  const bytes = fromBase64url(payload);
  const found = /"iat":\d+/.exec(new TextDecoder("latin1").decode(bytes));
  const place = found.index + found[0].length - 1;
  bytes[place] = 48 + ((bytes[place] - 47) % 10);
  return [header, base64url(bytes), signature].join(".");
}
