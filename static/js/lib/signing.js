// HTTP Message Signatures (RFC 9421) with Ed25519, as the service requires them.

import { base64, base64url, contentDigest, utf8 } from "./bytes.js";

const LIFETIME_S = 45; // the service allows 60, and 30 either way between two clocks

/**
 * An agent with its key: WebCrypto's, or a function of the library that signs instead.
 * @typedef {{did: string, privateKey?: CryptoKey, sign?: (bytes: Uint8Array) => Promise<Uint8Array>}} Identity
 */

/** Proof that the caller has the key of a new agent, which joins a trial. */
export const agentProof = (identity, trial, audience, now) =>
  jws(identity, "intramedial-agent+jwt", {
    did: identity.did,
    trial,
    aud: audience,
    iat: Math.floor(now / 1000),
  });

/** A compact JWS (RFC 7515, EdDSA) of claims, signed by an identity's key. */
export async function jws(identity, typ, claims) {
  const part = (value) => base64url(utf8(JSON.stringify(value)));
  const text = `${part({ alg: "EdDSA", typ })}.${part(claims)}`;
  return `${text}.${base64url(await signed(identity, utf8(text)))}`;
}

/**
 * What a signature of a request covers (RFC 9421): the headers to add, the parameters, the signature base.
 * @param {{method: string, url: string, body?: string}} request `url` absolute, with the public origin
 * @param {{did: string, created: number | string, expires: number | string, nonce: string}} by
 * @returns {Promise<{headers: Record<string, string>, parameters: string, base: string, digest: string | null}>}
 */
export async function toBeSigned(request, { did, created, expires, nonce }) {
  const headers = {};
  const covered = [
    ["@method", request.method],
    ["@target-uri", request.url],
  ];
  let digest = null;
  if (request.body !== undefined) {
    digest = await contentDigest(utf8(request.body));
    headers["content-type"] = "application/json";
    headers["content-digest"] = digest;
    covered.push(["content-type", headers["content-type"]], ["content-digest", digest]);
  }
  const parameters =
    `(${covered.map(([name]) => `"${name}"`).join(" ")});created=${created};expires=${expires}` +
    `;nonce="${nonce}";keyid="${did}";alg="ed25519";tag="intramedial"`;
  const base = [
    ...covered.map(([name, value]) => `"${name}": ${value}`),
    `"@signature-params": ${parameters}`,
  ].join("\n");
  return { headers, parameters, base, digest };
}

/**
 * The headers that sign a request.
 * @param {{method: string, url: string, body?: string}} request
 * @param {Identity} identity
 * @param {number} now milliseconds since the Unix epoch, by the server's clock
 * @returns {Promise<{headers: Record<string, string>, base: string, digest: string | null}>}
 */
export async function sign(request, identity, now) {
  const created = Math.floor(now / 1000);
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(18)));
  const by = { did: identity.did, created, expires: created + LIFETIME_S, nonce };
  const { headers, parameters, base, digest } = await toBeSigned(request, by);
  headers["signature-input"] = `sig=${parameters}`;
  headers.signature = `sig=:${base64(await signed(identity, utf8(base)))}:`;
  return { headers, base, digest };
}

/** The signature by WebCrypto's key, or by the library that signs instead. */
async function signed(/** @type {Identity} */ { privateKey, sign }, bytes) {
  return sign ? sign(bytes) : new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, bytes));
}
