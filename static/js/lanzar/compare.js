// Two launches side by side: the requests, the outcomes, the times, and where the answers differ.

import { h } from "../lib/dom.js";
import { pretty } from "../lib/json.js";
import { t } from "../lib/text.js";

/** The elements that compare `later` with `earlier`. */
export function compared(earlier, later, { duration, instant }) {
  const took = ({ times }) => duration(Object.values(times).reduce((sum, ms) => sum + ms, 0));
  /** @type {[string, (run: any) => string][]} */
  const rows = [
    ["hi_when", (run) => instant(run.at)],
    ["hi_operation", (run) => run.operation],
    ["hi_outcome", (run) => `${run.status} ${run.title}`],
    ["hi_took", took],
  ];
  return [
    h("h4", {}, t("hi_comparison")),
    h(
      "table",
      { class: "facts" },
      h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, t("hi_earlier")), h("th", { scope: "col" }, t("hi_later")))),
      h(
        "tbody",
        {},
        rows.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, t(key)), h("td", {}, value(earlier)), h("td", {}, value(later)))),
      ),
    ),
    h("h5", {}, t("hi_request")),
    difference(earlier.text, later.text),
    h("h5", {}, t("hi_answer")),
    difference(pretty(readable(earlier.body)), pretty(readable(later.body))),
  ];
}

/** The body with only the id of its receipt: the bytes of a receipt always differ. */
const readable = (body) => (body?.receipt ? { ...body, receipt: { id: body.receipt.id } } : body);

function difference(before, after) {
  const lines = diff(before.split("\n"), after.split("\n"));
  if (lines.every(([sign]) => sign === " ")) return h("p", { class: "quiet" }, t("hi_same"));
  const words = { "-": t("hi_only_earlier"), "+": t("hi_only_later") };
  return h(
    "div",
    { class: "code wraps" },
    h(
      "pre",
      { tabindex: "0" },
      lines.map(([sign, text]) =>
        h(
          "span",
          { class: `diff-line ${{ "-": "is-gone", "+": "is-new" }[sign] ?? ""}` },
          words[sign] && h("span", { class: "visually-hidden" }, `${words[sign]}: `),
          `${sign} ${text}\n`,
        ),
      ),
    ),
  );
}

/** The difference by longest common subsequence: [sign, line], where the sign is " " (in both), "-" or "+". */
export function diff(before, after) {
  const length = Array.from({ length: before.length + 1 }, () => new Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      length[i][j] = before[i] === after[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([" ", before[i]]);
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && length[i + 1][j] >= length[i][j + 1])) {
      lines.push(["-", before[i]]);
      i += 1;
    } else {
      lines.push(["+", after[j]]);
      j += 1;
    }
  }
  return lines;
}
