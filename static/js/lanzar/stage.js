// What a launch is seen in: the answer, its receipt, the live board. Fetched with the visitor's first move, so that
// it is there before it is needed and a page that is only read stays light.

import { shorten } from "../lib/did.js";
import { part } from "../lib/dom.js";
import { Live } from "../lib/live.js";
import { verify } from "../lib/receipt.js";
import { duration, t } from "../lib/text.js";
import { Board } from "../parts/board.js";
import { AnswerView } from "./answer.js";

export class Stage {
  /**
   * @param {{form, trial, signers, baseUrl: string, history, mends: Record<string, () => void>}} page `mends`: what
   *   one click can put right
   */
  constructor(root, page) {
    this.form = page.form;
    this.trial = page.trial;
    this.signers = page.signers;
    this.baseUrl = page.baseUrl;
    this.history = page.history;
    this.live = new Live("");
    this.#aim();
    this.trial.addEventListener("change", () => this.trial.adopted !== this.watched && this.#aim());
    this.answers = new AnswerView(part(root, "answer"), part(root, "receipt"), page.mends);
    this.board = new Board(part(root, "board"), this.live, (did) => this.signers.nameOf(did));
  }

  /** Follows the trial, or the workspace that somebody made of it: in the session of whoever is in. */
  #aim() {
    const on = this.live.state !== "off";
    this.live.stop();
    this.watched = this.trial.adopted;
    this.live.path = this.watched ? `/ws/espacios/${this.watched}/` : "/ws/prueba/";
    this.live.ticket = this.watched ? null : () => this.trial.ticket();
    if (on) this.live.start();
  }

  /** Shows what came of a launch that `by` signed, and keeps it; gives what to announce. */
  async show(answer, by) {
    const asked = { operation: this.form.operation, text: this.form.editor.value, by };
    const { body, signed, status, times } = answer;
    const expected = { issuer: this.baseUrl, kid: body?.receipt?.kid, digest: signed.digest, answer: body };
    const start = performance.now();
    const verified = body?.receipt && (await verify(body.receipt.jws, expected));
    const verification = verified && { ...verified, time: performance.now() - start };
    const said = body && !body.type ? this.#answered(answer, expected, verification) : this.#failed(answer);
    const { title } = this.answers;
    const took = verification ? { ...times, verify: verification.time } : times;
    this.history.add({ ...asked, status, title, body, times: took });
    return said;
  }

  #answered(answer, expected, verification) {
    const names = (did) => this.signers.nameOf(did, "agent_in_words") || shorten(did);
    const context = { operation: this.form.operation, expected, names };
    const said = this.answers.show(answer, context, verification);
    return verification ? `${said} ${t(verification.ok ? "receipt_said_ok" : "receipt_said_bad")}` : said;
  }

  #failed(answer) {
    if (answer.body?.errors) this.form.markRefused(answer.body.errors);
    return this.answers.problem(answer.body?.reason, answer);
  }

  /** The service would not begin a trial, or add to one. */
  refused({ answer, beginning }) {
    const reason = answer.body?.reason;
    if (!beginning || reason !== "rate_limited") return this.answers.problem(reason, answer);
    const seconds = Number(answer.headers.get("retry-after") ?? 3600);
    return this.answers.problem("trials_limited", answer, { in: duration(Math.ceil(seconds / 60) * 60_000) });
  }

  clear() {
    this.live.stop();
    this.answers.clear();
    this.board.clear();
  }
}
