// The operations that can be launched, and what the editor's JSON becomes: a request, a curl command, a link.

import { base64url, fromBase64url, utf8 } from "../lib/bytes.js";
import { read } from "../lib/json.js";
import { data } from "../lib/text.js";

const MARK = "#peticion=";
const LONGEST = 8000;

/** By name: {title, words, method, path, sends: "body" | "query", example}. The list comes from the server. */
export const operations = data("operations");

/** The DID in examples until there is a key. */
export const PLACEHOLDER = "did:key:z6Mk…";

export function example(name, did, resource) {
  const members = { ...operations[name].example };
  if ("actorDid" in members) members.actorDid = did ?? PLACEHOLDER;
  if (resource && "resource" in members) members.resource = resource;
  return JSON.stringify(members, null, 2);
}

/**
 * The request for `text`, which must be a JSON object.
 * @returns {{method: string, path: string, body?: string}}
 */
export function toRequest(name, text, value) {
  const { method, path, sends } = operations[name];
  if (sends === "body") return { method, path, body: text };
  const query = new URLSearchParams();
  for (const [key, member] of Object.entries(value)) query.set(key, String(member));
  const search = query.size > 0 ? `?${query.toString().replaceAll("+", "%20")}` : "";
  return { method, path: path + search };
}

/** Quotes a word for a POSIX shell. */
export const quoted = (text) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The same request as a curl command for a POSIX shell, with a workspace's API key. */
export function toCurl(baseUrl, { method, path, body }) {
  const lines = [
    `curl -sS${method === "GET" || method === "POST" ? "" : ` -X ${method}`} ${quoted(baseUrl + path)}`,
    `-H "Authorization: Bearer $INTRAMEDIAL_KEY"`,
  ];
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(compact(body))}`);
  return lines.join(" \\\n  ");
}

function compact(body) {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}

/**
 * A request as a link: its operation and its JSON, in the part of the address after #, which is never sent.
 * The link has no key, no lease id and none of the DIDs in `own`. The person who opens it signs with their own key.
 */
export function link(operation, text, own) {
  const { value } = read(text);
  let shared = text;
  if (value && typeof value === "object" && !Array.isArray(value)) {
    const { leaseId: _, ...members } = value;
    shared = JSON.stringify(members, null, 2);
  }
  for (const did of own) shared = shared.replaceAll(did, PLACEHOLDER);
  const packed = base64url(utf8(JSON.stringify({ operation, text: shared })));
  return `${location.origin}${location.pathname}${MARK}${packed}`;
}

/** The request in the fragment of an address, {operation, text}; null if there is none or it cannot be read. */
export function opened(hash) {
  if (!hash.startsWith(MARK) || hash.length > LONGEST) return null;
  try {
    const bytes = fromBase64url(hash.slice(MARK.length));
    const { operation, text } = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return Object.hasOwn(operations, operation) && typeof text === "string" ? { operation, text } : null;
  } catch {
    return null;
  }
}
