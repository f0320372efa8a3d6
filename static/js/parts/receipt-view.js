// Shows a receipt: the verdict, each check in words, its facts, and what happens when one byte is changed.

import "../elements/short-did.js";
import { h, icon } from "../lib/dom.js";
import { instant, number, t } from "../lib/text.js";
import { changeOneByte, decode, verify } from "../lib/receipt.js";

/** The elements that show `receipt`. `first` is its verification; `heading` is the tag of the title. */
export function receiptView(receipt, expected, first, heading = "h3") {
  const verdict = h("div", { role: "status" });
  const checklist = h("ul", { class: "checklist", role: "list" });
  const facts = h("tbody");
  const raw = h("pre", { tabindex: "0" });
  const change = h("button", { type: "button", class: "button", "aria-pressed": "false" });
  const genuine = decode(receipt.jws).claims;
  let jws = receipt.jws;

  const show = ({ ok, claims, checks }) => {
    const failed = checks.filter((check) => !check.ok).length;
    const words = ok
      ? t("receipt_ok", { n: checks.length })
      : t("receipt_bad", { n: failed, of: checks.length });
    verdict.className = `verdict ${ok ? "is-go" : "is-stop"}`;
    verdict.dataset.verified = String(ok);
    verdict.replaceChildren(
      icon(ok ? "check" : "cross"),
      h(heading === "h2" ? "h3" : "h4", {}, t(ok ? "verified" : "not_verified")),
      h("p", { class: "quiet" }, words),
    );
    checklist.replaceChildren(...checks.map(checkLine));
    facts.replaceChildren(...rows(claims, genuine));
    raw.replaceChildren(...marked(jws, receipt.jws));
    change.textContent = t(jws === receipt.jws ? "change_byte" : "restore_byte");
    change.setAttribute("aria-pressed", String(jws !== receipt.jws));
  };
  change.addEventListener("click", async () => {
    jws = jws === receipt.jws ? changeOneByte(jws) : receipt.jws;
    show(await verify(jws, expected));
  });
  show(first);

  return [
    h("div", { class: "receipt-head" }, h(heading, {}, t("receipt")), h("code", {}, receipt.id)),
    h(
      "div",
      { class: "receipt-verdict" },
      verdict,
      h(
        "div",
        { class: "receipt-actions" },
        change,
        download(receipt),
        elsewhere(receipt),
        h("button", { type: "button", class: "button", onclick: () => print() }, t("print")),
      ),
    ),
    checklist,
    h("table", { class: "facts" }, h("caption", { class: "visually-hidden" }, t("receipt_facts")), facts),
    h(
      "details",
      { class: "disclosure" },
      h("summary", {}, t("receipt_raw")),
      h(
        "div",
        { class: "code wraps" },
        raw,
        h("copy-button", { "data-label": t("copy"), "data-done": t("copied"), "data-copy": receipt.jws }),
      ),
    ),
  ];
}

function checkLine({ id, ok, values }) {
  return h(
    "li",
    { class: ok ? "is-go" : "is-stop", "data-check": id, "data-ok": String(ok) },
    icon(ok ? "check" : "cross"),
    h(
      "span",
      { class: "what" },
      t(`check_${id}`),
      h("span", { class: "visually-hidden" }, `: ${t(ok ? "holds" : "fails")}`),
    ),
    h("span", { class: "why" }, t(`check_${id}_${ok ? "ok" : "bad"}`, values)),
  );
}

function rows(claims, genuine) {
  if (!claims) return [h("tr", {}, h("th", { scope: "row" }, t("receipt")), h("td", {}, t("unreadable")))];
  /** @type {[string, (claims: any) => any, string?][]} */
  const lines = [
    ["fact_outcome", ({ event, outcome }) => `${event} → ${outcome}`, "code"],
    ["fact_resource", ({ resource }) => resource, "code"],
    ["fact_token", ({ result }) => tokenOf(result), "staff"],
    ["fact_agent", ({ sub }) => sub, "did"],
    ["fact_auth", ({ auth }) => auth && t(`auth_${auth}`)], // the receipt of an expiry has no caller
    ["fact_issued", ({ iat }) => (Number.isFinite(iat) ? instant(iat * 1000) : String(iat))],
    ["fact_request", ({ request }) => request?.digest, "code"],
    ["fact_issuer", ({ iss }) => iss, "code"],
    ["fact_workspace", ({ workspace }) => workspace, "code"],
  ];
  return lines.flatMap(([name, read, form]) => {
    const value = read(claims);
    if (value === undefined || value === null) return [];
    const changed = value !== read(genuine);
    return [
      h(
        "tr",
        {},
        h("th", { scope: "row" }, t(name)),
        h("td", {}, h("span", { class: changed && "was-changed" }, formed(value, form))),
      ),
    ];
  });
}

function formed(value, form) {
  if (form === "did") return h("short-did", { value: String(value) });
  if (form === "code") return h("code", {}, String(value));
  if (form === "staff") return h("span", { class: "staff" }, t("token", { token: number(value) }));
  return String(value);
}

/** The token of the lease in a result, under any name: `lease`, `released` and so on. */
const tokenOf = (result) => Object.values(result ?? {}).find((part) => part?.fencingToken)?.fencingToken;

/** The text, with a mark on what differs from the genuine one. */
function marked(text, genuine) {
  if (text === genuine) return [text];
  let from = 0;
  while (text[from] === genuine[from]) from += 1;
  let end = 0;
  while (text.at(-1 - end) === genuine.at(-1 - end)) end += 1;
  const to = Math.max(from + 1, text.length - end);
  return [text.slice(0, from), h("mark", {}, text.slice(from, to)), text.slice(to)];
}

/** A link to this receipt on the page that verifies receipts; null on that page. */
function elsewhere(receipt) {
  const { verify: page } = document.body.dataset;
  if (location.pathname === page) return null;
  return h("a", { class: "button", href: `${page}#${receipt.jws}` }, t("open_in_verify"));
}

function download(receipt) {
  const link = h("a", { class: "button", download: `${receipt.id}.jws` }, t("download"));
  link.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([receipt.jws], { type: "application/jose" }));
    link.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  link.href = "#";
  return link;
}
