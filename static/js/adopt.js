// Adopts the trial of this browser: its first key signs that the person may have the workspace.

import { part } from "./lib/dom.js";
import { KeyStore } from "./lib/keystore.js";
import { jws } from "./lib/signing.js";
import { shorten } from "./lib/text.js";

const root = part(document, "adopt");
const form = part(root, "form");
const { audience, typ, now, unreachable } = root.dataset;
// How far the server's clock is ahead, in ms.
const ahead = Number(now) * 1000 - Date.now();
const store = new KeyStore();
const record = await store.load();
const own = record && !record.adopted ? record.identities[0] : null;

part(root, "none").hidden = Boolean(own);
form.hidden = !own;
if (own) {
  part(form, "did").textContent = shorten(own.did, 12, 6);
  part(form, "did").title = own.did;
}

let sending = false;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (sending) return;
  sending = true;
  event.submitter?.setAttribute("aria-disabled", "true");
  try {
    await send();
  } finally {
    sending = false;
    event.submitter?.removeAttribute("aria-disabled");
  }
});

async function send() {
  const fields = form.elements;
  const claims = { did: own.did, for: fields.once.value, aud: audience, iat: Math.floor((Date.now() + ahead) / 1000) };
  fields.did.value = own.did;
  fields.proof.value = await jws(own, typ, claims);
  let answer;
  try {
    const came = await fetch(location.pathname, { method: "POST", body: new FormData(form) });
    if (came.redirected) return location.assign(came.url); // to the log-in
    answer = await came.json();
  } catch {
    return show({ __all__: [unreachable] });
  }
  if (answer.errors) {
    fields.once.value = answer.once;
    return show(answer.errors);
  }
  await store.save({ ...record, adopted: answer.workspace });
  location.assign(answer.path);
}

function show({ name = [], ...others }) {
  const box = part(root, "errors");
  const general = Object.values(others).flat();
  box.hidden = !general.length;
  box.querySelector("p").textContent = general.join(" ");
  const beside = part(form, "name-errors");
  beside.hidden = !name.length;
  beside.querySelector("span").textContent = name.join(" ");
  const field = form.elements.name;
  field.toggleAttribute("aria-invalid", false);
  if (name.length) {
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", "name_error");
    field.focus();
  }
}
