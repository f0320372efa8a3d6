// The right side of Lanzar: the authority's answer in words and as JSON, the times it took, and the receipt.

import { h, icon, part } from "../lib/dom.js";
import { clockTime, duration, has, number, t } from "../lib/text.js";
import { jsonView } from "../parts/json-view.js";
import { receiptView } from "../parts/receipt-view.js";

export class AnswerView {
  /** @param {Record<string, () => void>} mends actions of buttons that mend a problem, by name */
  constructor(root, receiptRoot, mends) {
    this.root = root;
    this.receipt = receiptRoot;
    this.body = part(root, "answer-body");
    this.start = [...this.body.childNodes];
    this.mends = mends;
  }

  clear() {
    this.body.replaceChildren(...this.start);
    this.#putReceipt(null);
  }

  working() {
    this.root.setAttribute("aria-busy", "true");
  }

  /** Shows an answer of the authority; returns a sentence that sums it up. */
  show(answer, context, verification) {
    const outcome = outcomeOf(answer, context.operation);
    const sentence = this.#sentence(answer.body, outcome, context);
    this.title = t(`out_${outcome}`);
    const { receipt } = answer.body;
    this.#put(
      verdict(answer.body.ok, t(`out_${outcome}`), sentence),
      clock(answer),
      times(answer, verification?.time),
      "receipt" in answer.body && !receipt && h("p", { class: "quiet" }, t("receipt_missing")),
      raw(answer),
      this.#further(),
    );
    this.#putReceipt(receipt && receiptView(receipt, context.expected, verification));
    return `${t(`out_${outcome}`)}. ${sentence}`;
  }

  /** Shows a problem (RFC 9457), or a request that did not reach the server; returns a sentence that sums it up. */
  problem(reason, answer = null, values = {}) {
    const known = has(`problem_${reason}`) ? reason : "unknown";
    const what = t(`problem_${known}`);
    this.title = what;
    const mend = {
      actor_mismatch: "name_signer",
      trial_expired: "new_key",
      unreachable: "again",
      unauthenticated: "new_key",
      bad_signature: "again",
      authority_unavailable: "again",
      replayed: "again",
    }[reason];
    this.#put(
      verdict(false, what, t(`problem_${known}_why`), "cross"),
      h("p", { class: "mend" }, h("b", {}, t("mend")), " ", t(`problem_${known}_mend`, values)),
      mend &&
        h(
          "p",
          {},
          h(
            "button",
            { type: "button", class: "button", onclick: this.mends[mend] },
            icon("again"),
            t(`mend_${mend}`),
          ),
        ),
      ["trial_exhausted", "trials_limited"].includes(reason) &&
        h(
          "p",
          {},
          h("a", { class: "button", href: "mailto:preview@intramedial.com" }, icon("mail"), t("ask_beta")),
        ),
      answer && clock(answer),
      answer && times(answer),
      answer?.body && raw(answer),
    );
    this.#putReceipt(null);
    return `${what} ${t("mend")} ${t(`problem_${known}_mend`, values)}`;
  }

  #further() {
    const compare = h("button", { type: "button", class: "link-button", onclick: this.mends.compare }, t("compare"));
    return h("p", { class: "answer-further" }, compare);
  }

  #putReceipt(view) {
    this.#keepingFocus(() => {
      this.receipt.hidden = !view;
      this.receipt.replaceChildren(...(view ?? []));
    });
  }

  /** If the focused button is among what is replaced, the focus goes to the title of the answer. */
  #keepingFocus(replace) {
    const { activeElement } = document;
    const lost = this.root.contains(activeElement) || this.receipt.contains(activeElement);
    replace();
    if (lost && !activeElement.isConnected) this.root.querySelector("#answer-title").focus({ preventScroll: true });
  }

  #put(...children) {
    this.root.removeAttribute("aria-busy");
    this.#keepingFocus(() => this.body.replaceChildren(...children.filter(Boolean)));
    this.#bringIntoView();
  }

  /** On a narrow page the answer is below the button. */
  #bringIntoView() {
    const { top } = this.root.getBoundingClientRect();
    if (top >= 0 && top < innerHeight * 0.7) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.root.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
  }

  #sentence(body, outcome, { names }) {
    const lease = body.lease ?? body.released ?? {};
    const values = { ...lease, token: lease.fencingToken && number(lease.fencingToken) };
    if (lease.expiresAt) values.until = clockTime(lease.expiresAt);
    if (body.holder) values.holder = names(body.holder);
    if (body.waitingOn) values.waitingOn = body.waitingOn;
    if (body.trust)
      Object.assign(values, { score: number(body.trust.score, 1), delta: number(body.trust.delta, 1) });
    if (outcome === "lease_held") {
      const form = `${body.offered ? "offered" : "held"}_${body.queued ? "queued" : "not_queued"}`;
      const wait = body.stampede?.waitMs;
      return t(`say_${form}`, {
        ...values,
        place: body.position,
        in: wait === undefined ? "" : duration(wait),
        until: body.keptUntil && clockTime(body.keptUntil),
      });
    }
    if (outcome === "picture") {
      return t("say_picture", {
        holders: number(body.holders.length),
        waits: number(body.queue.length),
        deadlocks: number(body.deadlocks.length),
      });
    }
    return t(`say_${outcome}`, values);
  }
}

function outcomeOf({ body }, operation) {
  if (body.reason) return body.reason;
  if (body.lease) return body.lease.renewed ? "renewed" : "granted";
  if (body.released) return "released";
  if (operation === "wait") return "picture";
  return body.withdrawn ? "withdrawn" : "not_queued";
}

const verdict = (ok, title, sentence, sign = ok ? "signal-go" : "signal-stop") =>
  h(
    "div",
    { class: `verdict ${ok ? "is-go" : "is-stop"}`, "data-ok": String(Boolean(ok)) },
    icon(sign),
    h("strong", {}, title),
    h("p", {}, sentence),
  );

/** A note when the visitor's clock is far off, whatever the answer was. */
function clock({ clockOff }) {
  if (!clockOff) return null;
  const step = Math.abs(clockOff) > 90_000 ? 60_000 : 1000;
  const off = duration(Math.round(Math.abs(clockOff) / step) * step);
  return h("p", { class: "clock-off" }, icon("pending"), ` ${t(clockOff > 0 ? "clock_slow" : "clock_fast", { off })}`);
}

function times({ status, times: { sign, network, server } }, verifying) {
  const steps = [
    [sign, t("time_sign")],
    ...(server === undefined ? [[network, t("time_both")]] : [[network, t("time_network")], [server, t("time_server")]]),
    ...(verifying === undefined ? [] : [[verifying, t("time_verify")]]),
  ];
  return h(
    "ol",
    { class: "line-map", "aria-label": t("times") },
    steps.map(([ms, words]) => h("li", {}, h("b", {}, duration(ms)), words)),
    h("li", {}, h("b", {}, "HTTP"), String(status)),
  );
}

/** The body as it came. Its receipt is folded, because it is shown below; the copy button copies everything. */
function raw({ body }) {
  return h(
    "div",
    { class: "code wraps", tabindex: "0", role: "group", "aria-label": t("answer_json"), "data-part": "answer-json" },
    jsonView(body, body.receipt ? ["receipt"] : []),
    h("copy-button", {
      "data-label": t("copy"),
      "data-done": t("copied"),
      "data-copy": JSON.stringify(body, null, 2),
    }),
  );
}
