// JSON for people: nested values can be folded, names and punctuation are paler, DIDs are shortened.

import { h } from "../lib/dom.js";
import { shorten } from "../lib/text.js";

const WIDTH = 56;

/**
 * @param {object} value
 * @param {string[]} folded names of members of `value` that are folded at first
 */
export function jsonView(value, folded = []) {
  return h("div", { class: "json" }, node("", value, "", folded));
}

const p = (text) => h("span", { class: "p" }, text);
const nested = (value) => value !== null && typeof value === "object";

function node(name, value, comma, folded = []) {
  const label = name && [h("span", { class: "k" }, `${JSON.stringify(name)}:`), " "];
  if (!nested(value)) return h("div", { class: "json-line" }, label, plain(value), p(comma));
  const array = Array.isArray(value);
  const [open, close] = array ? "[]" : "{}";
  const members = Object.entries(value);
  const short = JSON.stringify(value);
  const flat = members.length === 0 || (name && short.length <= WIDTH && !members.some(([, item]) => nested(item)));
  if (flat) return h("div", { class: "json-line" }, label, inline(value, open, close), p(comma));
  if (name) return fold(name, value, comma, true);
  return h(
    "div",
    {},
    h("div", { class: "json-line" }, p(open)),
    h("div", { class: "json-in" }, inside(value, folded)),
    h("div", { class: "json-line" }, p(close + comma)),
  );
}

function inside(value, folded = []) {
  const members = Object.entries(value);
  return members.map(([key, item], index) => {
    const comma = index < members.length - 1 ? "," : "";
    if (folded.includes(key)) return fold(key, item, comma, false);
    return node(Array.isArray(value) ? "" : key, item, comma);
  });
}

function fold(name, value, comma, opened) {
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return h(
    "details",
    { open: opened },
    h(
      "summary",
      {},
      h("span", { class: "k" }, `${JSON.stringify(name)}:`),
      " ",
      p(open),
      h("span", { class: "json-more" }, p(` … ${close}${comma}`)),
    ),
    h("div", { class: "json-in" }, inside(value)),
    h("div", { class: "json-line" }, p(close + comma)),
  );
}

function inline(value, open, close) {
  const array = Array.isArray(value);
  const items = Object.entries(value).map(([key, item], index) => [
    index ? p(", ") : "",
    array ? "" : [h("span", { class: "k" }, `${JSON.stringify(key)}:`), " "],
    plain(item),
  ]);
  return items.length ? [p(open), array ? "" : " ", ...items.flat(2), array ? "" : " ", p(close)] : p(open + close);
}

const plain = (value) =>
  JSON.stringify(typeof value === "string" && value.startsWith("did:") ? shorten(value, 15, 6) : value);
