// A signed request and its answer, with the times that they took.

import { learn, serverNow } from "./clock.js";
import { sign } from "./signing.js";

/** The server could not be reached at all. */
export class Unreachable extends Error {}

/** How long to wait for an answer. */
const ANSWER_MS = 20_000;

/** Between two clocks that differ by more than this, a signature may look too old or too new. */
const CLOCK_OFF_MS = 25_000;

/**
 * @param {string} baseUrl public origin of the service; the signature covers it
 * @param {{method: string, path: string, body?: string}} request
 * @param {import("./signing.js").Identity} identity
 * @returns {Promise<{status, headers, body, signed, sent, clockOff, times: {sign: number, network: number, server?: number}}>}
 *   `body` parsed JSON or null; `clockOff`: how many ms this machine's clock is behind the server's, 0 if too few to
 *   matter. Throws Unreachable.
 */
export async function send(baseUrl, request, identity) {
  return twiceIfClockOff(() => whole(baseUrl, request, identity));
}

/** The same for an answer in JSON Lines: `lines` yields them as they arrive. A problem is in `body`, as with `send`. */
export async function stream(baseUrl, request, identity) {
  return twiceIfClockOff(async () => {
    const opened = await open(baseUrl, request, identity);
    if (opened.status !== 200) return read(opened);
    return { ...opened, lines: lines(opened.response) };
  });
}

/** Asks again if the clock was far off, which makes a good signature look old. The first answer's Date corrects it. */
async function twiceIfClockOff(ask) {
  const first = await ask();
  return first.body?.reason === "bad_signature" && first.clockWasOff ? ask() : first;
}

async function whole(baseUrl, request, identity) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  try {
    return await read(await open(baseUrl, request, identity, late.signal));
  } finally {
    clearTimeout(timer);
  }
}

/** @param {{method: string, path: string, body?: string}} request @param {AbortSignal} [signal] */
async function open(baseUrl, request, identity, signal) {
  const { method, path, body } = request;
  const start = performance.now();
  const assumed = serverNow();
  const signed = await sign({ method, url: baseUrl + path, body }, identity, assumed);
  const sent = performance.now();
  const response = await reaching(
    fetch(path, { method, headers: signed.headers, body, cache: "no-store", credentials: "omit", signal }),
  );
  learn(response.headers.get("date"), { precise: false });
  const off = serverNow() - Date.now();
  return {
    response,
    status: response.status,
    headers: response.headers,
    signed,
    sent: body,
    sentAt: sent,
    clockWasOff: Math.abs(serverNow() - assumed - (performance.now() - start)) > 10_000,
    clockOff: Math.abs(off) > CLOCK_OFF_MS ? off : 0,
    times: { sign: sent - start },
  };
}

async function read(opened) {
  const text = await reaching(opened.response.text());
  const both = performance.now() - opened.sentAt;
  // The service gives its own time (Server-Timing); the rest is the network's.
  const server = Number(/(?:^|,)\s*app;dur=([\d.]+)/.exec(opened.headers.get("server-timing") ?? "")?.[1]);
  const times = Number.isFinite(server) ? { network: Math.max(0, both - server), server } : { network: both };
  return { ...opened, body: parse(text), times: { ...opened.times, ...times } };
}

async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reaching(reader.read());
    if (done) return;
    const found = (rest + value).split("\n");
    rest = found.pop();
    for (const line of found) yield JSON.parse(line);
  }
}

async function reaching(promise) {
  try {
    return await promise;
  } catch (error) {
    throw new Unreachable("no answer", { cause: error });
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
