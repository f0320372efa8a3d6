// HTTP Message Signatures (RFC 9421) with Ed25519, the way the service asks for them.

import { base64, base64url, contentDigest, utf8 } from "./bytes.js";

const LIFETIME_S = 45; // the service allows 60, and 30 either way between two clocks

/** Proof that a new agent's key is held: a compact JWS (RFC 7515, EdDSA) signed by that key. */
export async function agentProof(identity, trial, audience, now) {
  const part = (value) => base64url(utf8(JSON.stringify(value)));
  const claims = { did: identity.did, trial, aud: audience, iat: Math.floor(now / 1000) };
  const signed = `${part({ alg: "EdDSA", typ: "intramedial-agent+jwt" })}.${part(claims)}`;
  const signature = await crypto.subtle.sign("Ed25519", identity.privateKey, utf8(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

/**
 * The headers that sign a request.
 * @param {{method: string, url: string, body?: string}} request `url` absolute, with the public origin
 * @param {{did: string, privateKey: CryptoKey}} identity
 * @param {number} now milliseconds since the Unix epoch, by the server's clock
 * @returns {Promise<{headers: Record<string, string>, base: string, digest: string | null}>}
 */
export async function sign(request, identity, now) {
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
  const created = Math.floor(now / 1000);
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(18)));
  const parameters =
    `(${covered.map(([name]) => `"${name}"`).join(" ")});created=${created};expires=${created + LIFETIME_S}` +
    `;nonce="${nonce}";keyid="${identity.did}";alg="ed25519";tag="intramedial"`;
  const base = [
    ...covered.map(([name, value]) => `"${name}": ${value}`),
    `"@signature-params": ${parameters}`,
  ].join("\n");
  const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", identity.privateKey, utf8(base)));
  headers["signature-input"] = `sig=${parameters}`;
  headers.signature = `sig=:${base64(signature)}:`;
  return { headers, base, digest };
}
