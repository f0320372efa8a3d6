// The parts that show a launch: answer, receipt, live board. They are fetched at the visitor's first move, so that they
// are there in time and a page that is only read stays small.

import { part } from "../lib/dom.js";
import { Live } from "../lib/live.js";
import { verify } from "../lib/receipt.js";
import { duration, shorten, t } from "../lib/text.js";
import { Board } from "../parts/board.js";
import { AnswerView } from "./answer.js";

export class Stage {
  /**
   * @param {{form, trial, signers, baseUrl: string, history, mends: Record<string, () => void>}} page `mends`:
   *   actions of buttons that mend a problem
   */
  constructor(root, page) {
    this.form = page.form;
    this.trial = page.trial;
    this.signers = page.signers;
    this.baseUrl = page.baseUrl;
    this.history = page.history;
    this.live = new Live("");
    this.#chooseSocket();
    this.trial.addEventListener("change", () => this.trial.adopted !== this.watched && this.#chooseSocket());
    this.answers = new AnswerView(part(root, "answer"), part(root, "receipt"), page.mends);
    this.board = new Board(part(root, "board"), this.live, (did) => this.signers.nameOf(did));
  }

  /** Chooses the live socket: of the trial, with a ticket; or, when adopted, of its workspace, with the session. */
  #chooseSocket() {
    const on = this.live.state !== "off";
    this.live.stop();
    this.watched = this.trial.adopted;
    this.live.path = this.watched ? `/ws/espacios/${this.watched}/` : "/ws/prueba/";
    this.live.ticket = this.watched ? null : () => this.trial.ticket();
    if (on) this.live.start();
  }

  /** Shows the answer to a launch that `by` signed, and adds it to the history; returns the text to announce. */
  async show(answer, by) {
    const launched = { operation: this.form.operation, text: this.form.editor.value, by };
    const { body, signed, status, times } = answer;
    const expected = { issuer: this.baseUrl, kid: body?.receipt?.kid, digest: signed.digest, answer: body };
    const start = performance.now();
    const verified = body?.receipt && (await verify(body.receipt.jws, expected));
    const verification = verified && { ...verified, time: performance.now() - start };
    const summary = body && !body.type ? this.#answered(answer, expected, verification) : this.#failed(answer);
    const { title } = this.answers;
    const took = verification ? { ...times, verify: verification.time } : times;
    this.history.add({ ...launched, status, title, body, times: took });
    return summary;
  }

  #answered(answer, expected, verification) {
    const names = (did) => this.signers.nameOf(did, "agent_in_words") || shorten(did);
    const context = { operation: this.form.operation, expected, names };
    const summary = this.answers.show(answer, context, verification);
    return verification ? `${summary} ${t(verification.ok ? "receipt_said_ok" : "receipt_said_bad")}` : summary;
  }

  #failed(answer) {
    if (answer.body?.errors) this.form.markRefused(answer.body.errors);
    return this.answers.problem(answer.body?.reason, answer);
  }

  /** Shows that the service refused to begin a trial or to add an agent. */
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
