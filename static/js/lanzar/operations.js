// The operations that can be launched and how each turns the editor's JSON into a request.

import { data } from "../lib/text.js";

/** By name: {title, words, method, path, sends: "body" | "query", example}. The server's own list. */
export const operations = data("operations");

/** Stands for the visitor's DID in an example, until there is a key. */
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

/** A word of a command for a POSIX shell. */
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
