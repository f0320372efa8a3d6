// A receipt as somebody gives it: the JWS alone, its JSON, or the whole answer that it came in.

import { decode } from "./receipt.js";

const PARTS = 3;
const SIGNATURE = 86; // 64 bytes in base64url

/**
 * @returns {{jws?: string, answer?: object, fault?: string, values?: object}} `answer`: the body it came in; `fault`
 *   names the words for what is not even a receipt
 */
export function found(text) {
  const given = text.trim();
  if (!given) return { fault: "empty" };
  if (!given.startsWith("{")) return bare(given.replace(/^["']|["',]+$/g, ""));
  let value;
  try {
    value = JSON.parse(given);
  } catch {
    return { fault: "bad_json" };
  }
  if (value.receipt === null) return { fault: "unsigned" };
  const jws = value.jws ?? value.receipt?.jws;
  if (typeof jws !== "string") return { fault: "no_receipt" };
  return { ...bare(jws), answer: value.receipt ? value : undefined };
}

function bare(text) {
  const jws = text.replace(/\s+/g, "");
  const parts = jws.split(".");
  if (!/^[\w.-]+$/.test(jws) || parts.length > PARTS) return { fault: "not_one" };
  if (parts.length < PARTS) {
    return jws.startsWith("eyJ") ? { fault: "cut_parts", values: { n: parts.length } } : { fault: "not_one" };
  }
  const { header } = decode(jws);
  if (!header) return { fault: "not_one" };
  if (parts[2].length < SIGNATURE) return { fault: "cut_end", values: { n: parts[2].length, of: SIGNATURE } };
  return { jws };
}
