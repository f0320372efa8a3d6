// The module page: Lanzar and the live board of the visitor's trial, put together.

import { AnswerView } from "./lanzar/answer.js";
import { Board } from "./parts/board.js";
import { KeyStrip } from "./lanzar/key-strip.js";
import { RequestForm } from "./lanzar/request.js";
import { Signers } from "./lanzar/signers.js";
import { shorten } from "./lib/did.js";
import { part } from "./lib/dom.js";
import { send, Unreachable } from "./lib/http.js";
import { Unable } from "./lib/keystore.js";
import { Live } from "./lib/live.js";
import { scenarios } from "./module/scenarios.js";
import { onSample } from "./module/samples.js";
import { verify } from "./lib/receipt.js";
import { duration, t } from "./lib/text.js";
import { Refused, Trial } from "./lib/trial.js";

const root = document.getElementById("lanzar");
const baseUrl = root.dataset.baseUrl;
const announcer = part(root, "announcer");

const trial = new Trial(baseUrl);
const live = new Live("/ws/prueba/", () => trial.ticket());
const form = new RequestForm(part(root, "request"), baseUrl);
const signers = new Signers(part(root, "signer"), trial, (did) => form.signAs(did));
const answers = new AnswerView(part(root, "answer"), part(root, "receipt"), {
  again: launch,
  name_signer() {
    form.nameSigner();
    launch();
  },
  async new_key() {
    await forget();
    launch();
  },
});
const board = new Board(part(root, "board"), live, (did) => signers.nameOf(did));
new KeyStrip(part(root, "key"), trial, forget);

let launching = false;

async function launch() {
  if (launching) return;
  launching = true;
  form.busy(true);
  try {
    announcer.textContent = "";
    announcer.textContent = await attempt();
  } finally {
    launching = false;
    form.busy(false);
  }
}

/** One launch, from the key to the verified receipt; gives what to announce. */
async function attempt() {
  try {
    if (!form.take()) return form.refusal;
    answers.working();
    if (!trial.identities.length) {
      await trial.ensure();
      signers.show();
    }
    live.start();
    // Only now does the JSON name the visitor's DID.
    const answer = await send(baseUrl, form.take(), signers.chosen);
    trial.note(answer);
    form.signed.show(answer.signed);
    return await show(answer);
  } catch (error) {
    if (error instanceof Refused) return refused(error);
    if (error instanceof Unable) return answers.problem(`unable_${error.reason}`);
    if (error instanceof Unreachable) return answers.problem("unreachable");
    throw error;
  }
}

function refused({ answer, beginning }) {
  const reason = answer.body?.reason;
  if (!beginning || reason !== "rate_limited") return answers.problem(reason, answer);
  const seconds = Number(answer.headers.get("retry-after") ?? 3600);
  return answers.problem("trials_limited", answer, { in: duration(Math.ceil(seconds / 60) * 60_000) });
}

async function show(answer) {
  const { body } = answer;
  if (!body || body.type) {
    if (body?.errors) form.markRefused(body.errors);
    return answers.problem(body?.reason, answer);
  }
  const expected = { issuer: baseUrl, kid: body.receipt?.kid, digest: answer.signed.digest, answer: body };
  const start = performance.now();
  const verification = body.receipt && (await verify(body.receipt.jws, expected));
  if (verification) verification.time = performance.now() - start;
  const names = (did) => signers.nameOf(did, "agent_in_words") || shorten(did);
  const said = answers.show(answer, { operation: form.operation, expected, names }, verification);
  return verification ? `${said} ${t(verification.ok ? "receipt_said_ok" : "receipt_said_bad")}` : said;
}

async function forget() {
  live.stop();
  await trial.forget();
  form.signAsNobody();
  signers.show();
  answers.clear();
  board.clear();
}

onSample(({ operation, members, agent }) => {
  const known = !agent || signers.choose(agent);
  form.open(operation, members, known ? "" : t("wants_agent", { letter: agent }));
});
form.addEventListener("launch", launch);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  launch();
});

scenarios(part(document, "scenarios"), { trial, live, signers, baseUrl });

await trial.load();
if (trial.identities.length) {
  signers.show();
  if (trial.state === "active" || trial.state === "exhausted") live.start();
}
root.dataset.ready = "";
