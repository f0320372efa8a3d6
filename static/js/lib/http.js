// A signed request and its answer, with the times they took.

import { learn, serverNow } from "./clock.js";
import { sign } from "./signing.js";

/** The server could not be reached at all. */
export class Unreachable extends Error {}

/**
 * @param {string} baseUrl public origin of the service, which is what gets signed
 * @param {{method: string, path: string, body?: string}} request
 * @param {{did: string, privateKey: CryptoKey}} identity
 * @returns {Promise<{status, body, headers, signed, times: {sign: number, network: number}}>} `body` parsed JSON or null
 */
export async function send(baseUrl, request, identity) {
  const first = await once(baseUrl, request, identity);
  // A clock that is far off makes a good signature look old. The server's Date header has told the time by now.
  if (first.body?.reason === "bad_signature" && first.clockWasOff) return once(baseUrl, request, identity);
  return first;
}

async function once(baseUrl, { method, path, body }, identity) {
  const start = performance.now();
  const assumed = serverNow();
  const signed = await sign({ method, url: baseUrl + path, body }, identity, assumed);
  const sent = performance.now();
  let response;
  let text;
  try {
    response = await fetch(path, {
      method,
      headers: signed.headers,
      body,
      cache: "no-store",
      credentials: "omit",
    });
    text = await response.text();
  } catch (error) {
    throw new Unreachable("no answer", { cause: error });
  }
  const answered = performance.now();
  learn(response.headers.get("date"), { precise: false });
  return {
    status: response.status,
    headers: response.headers,
    body: parse(text),
    signed,
    sent: body,
    clockWasOff: Math.abs(serverNow() - assumed - (answered - start)) > 10_000,
    times: { sign: sent - start, network: answered - sent },
  };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
