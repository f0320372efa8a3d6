// The module page: connects Lanzar, the answer, the live board and the scenarios.

import { Extras } from "./lanzar/extras.js";
import { KeyStrip } from "./lanzar/key-strip.js";
import { RequestForm } from "./lanzar/request.js";
import { Signers } from "./lanzar/signers.js";
import { h, part } from "./lib/dom.js";
import { send, Unreachable } from "./lib/http.js";
import { Unable } from "./lib/keystore.js";
import { t } from "./lib/text.js";
import { Refused, Trial } from "./lib/trial.js";
import { scenarios } from "./scenarios/loader.js";

const MOVES = ["pointermove", "pointerdown", "touchstart", "keydown", "wheel"];

const root = document.getElementById("lanzar");
const baseUrl = root.dataset.baseUrl;
const announcer = part(root, "announcer");
const announce = (words) => (announcer.textContent = words);

const trial = new Trial(baseUrl);
const form = new RequestForm(part(root, "request"), baseUrl);
const signers = new Signers(part(root, "signer"), trial, (did) => form.signAs(did));
const extras = new Extras(root, { form, trial, signers, launch, announce });
new KeyStrip(part(root, "key"), trial, forget);

let fetching = null;
let launching = false;
let forgetting = null;

/** The parts that show a launch; fetched by the first call. */
function stage() {
  fetching ??= import("./lanzar/stage.js").then(
    ({ Stage }) => new Stage(root, { form, trial, signers, baseUrl, history: extras.history, mends }),
  );
  fetching.catch(() => (fetching = null));
  return fetching;
}

const mends = {
  again: launch,
  name_signer() {
    form.nameSigner();
    launch();
  },
  async new_key() {
    await forget();
    launch();
  },
  compare: () => extras.compare(),
};

async function launch() {
  if (launching) return;
  launching = true;
  form.busy(true);
  try {
    announce("");
    announce(await attempt());
  } finally {
    launching = false;
    form.busy(false);
  }
}

/** One launch, from the key to the verified receipt. Returns the text to announce. */
async function attempt() {
  if (!form.take()) return form.refusal;
  const answer = part(root, "answer");
  answer.setAttribute("aria-busy", "true");
  await forgetting; // a launch right after "forget" signs with the next key
  // The key is made while the code that shows the answer is fetched.
  const begun = begin();
  begun.catch(() => {});
  let shown;
  try {
    shown = await stage();
  } catch {
    answer.removeAttribute("aria-busy");
    const words = `${t("problem_unreachable")} ${t("problem_unreachable_mend")}`;
    part(answer, "answer-body").replaceChildren(h("p", {}, words));
    return words;
  }
  try {
    await begun;
    shown.live.start();
    // The JSON is taken again: only now does it name the visitor's DID.
    const by = signers.chosen;
    const came = await send(baseUrl, form.take(), by);
    trial.note(came);
    form.signed.show(came.signed);
    return await shown.show(came, by.did);
  } catch (error) {
    if (error instanceof Refused) return shown.refused(error);
    if (error instanceof Unable) return shown.answers.problem(`unable_${error.reason}`);
    if (error instanceof Unreachable) return shown.answers.problem("unreachable");
    throw error;
  }
}

async function begin() {
  if (trial.identities.length) return;
  await trial.ensure();
  signers.show();
}

function forget() {
  forgetting = (async () => {
    (await stage()).clear();
    await trial.forget();
    form.forgetSigner();
    signers.show();
  })();
  return forgetting;
}

/** Calls `open({operation, members, agent})` when the visitor follows the link of a sample in the text. */
function onSample(open) {
  document.addEventListener("click", (event) => {
    const link = /** @type {HTMLAnchorElement} */ (/** @type {Element} */ (event.target).closest?.("a[data-launch]"));
    if (!link) return;
    // The page scrolls to Lanzar here: the browser's own scrolling would come later and take the focus from the editor.
    event.preventDefault();
    location.hash = link.hash;
    open(JSON.parse(link.dataset.launch));
  });
}

onSample(({ operation, members, agent }) => {
  const known = !agent || signers.choose(agent);
  form.open(operation, members, known ? "" : t("wants_agent", { letter: agent }));
});
trial.addEventListener("elsewhere", () => {
  if (!trial.identities.length) form.forgetSigner();
  signers.show();
});
form.addEventListener("launch", launch);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  launch();
});
for (const move of MOVES) addEventListener(move, stage, { once: true, passive: true });
scenarios(part(document, "scenarios"), async () => ({ trial, signers, baseUrl, live: (await stage()).live }));

await trial.load();
if (trial.identities.length) {
  signers.show();
  const shown = await stage();
  if (["active", "exhausted", "adopted"].includes(trial.state)) shown.live.start();
}
extras.openShared();
addEventListener("hashchange", () => extras.openShared());
root.dataset.ready = "";
