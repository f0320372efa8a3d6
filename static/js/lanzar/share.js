// A request as a link: which operation and its JSON, in the part of the address after #, which is never sent. Nothing
// of the visitor goes with it: not the key, not its DID, not a lease's id. Whoever opens it signs with their own key.

import { base64url, fromBase64url, utf8 } from "../lib/bytes.js";
import { read } from "../lib/json.js";
import { operations, PLACEHOLDER } from "./operations.js";

const MARK = "#peticion=";
const LONGEST = 8000;

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

/** What an address asks to be opened, {operation, text}; null if nothing, or nothing that can be read. */
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
