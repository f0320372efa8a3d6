// The page that verifies a receipt: pasted, from a file, or from the part of the address after #, which browsers do not
// send. The page asks the service only for the published keys.

import { copied, h, icon, part } from "./lib/dom.js";
import { decode, verify } from "./lib/receipt.js";
import { t } from "./lib/text.js";
import { receiptView } from "./parts/receipt-view.js";

const PARTS = 3;
const SIGNATURE_LENGTH = 86; // 64 bytes in base64url

const root = part(document, "verify");
const issuer = root.dataset.baseUrl;
const form = part(root, "form");
const given = root.querySelector("#given");
const view = part(root, "receipt");
const note = part(root, "note");
const link = part(root, "link");

async function check() {
  const { jws, answer, fault, values } = found(given.value);
  part(root, "fault").textContent = fault ? t(`given_${fault}`, values) : "";
  given.setAttribute("aria-invalid", String(Boolean(fault)));
  note.hidden = view.hidden = link.hidden = true;
  part(root, "empty").hidden = !fault;
  if (fault) {
    given.focus();
    return;
  }
  if (!globalThis.crypto?.subtle) {
    warn("given_insecure");
    return;
  }
  const expected = { issuer, answer };
  const verification = await verify(jws, expected);
  const { claims, reached } = verification;
  if (!reached) warn("given_no_keys");
  else if (claims && claims.iss !== issuer) warn("given_other_issuer", { issuer: String(claims.iss) });
  view.replaceChildren(...receiptView({ id: String(claims?.jti ?? ""), jws }, expected, verification, "h2"));
  view.hidden = link.hidden = false;
  link.dataset.url = `${location.origin}${location.pathname}#${jws}`;
  part(root, "announcer").textContent = t(verification.ok ? "receipt_said_ok" : "receipt_said_bad");
}

/**
 * Finds the receipt in a text: the JWS alone, its JSON, or the whole answer with the receipt.
 * @returns {{jws?: string, answer?: object, fault?: string, values?: object}} `answer`: the whole answer, if given;
 *   `fault` names the text for something that is no receipt
 */
function found(text) {
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
  if (parts[2].length < SIGNATURE_LENGTH) return { fault: "cut_end", values: { n: parts[2].length, of: SIGNATURE_LENGTH } };
  return { jws };
}

/** Shows, above the receipt or instead of it, why the checks cannot be relied on. */
function warn(key, values = {}) {
  const own = /^https?:\/\/[\w.:[\]-]+$/.test(values.issuer ?? "");
  const elsewhere = own && h("a", { href: `${values.issuer}/verificar/` }, t("given_elsewhere"));
  note.replaceChildren(icon("cross", "is-stop"), ` ${t(key, values)} `, elsewhere || "");
  note.hidden = false;
}

async function take(file) {
  if (!file) return;
  given.value = file.size > 1_000_000 ? "" : await file.text();
  await check();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
given.addEventListener("paste", () => setTimeout(check));
part(root, "file").addEventListener("change", ({ target }) => take(target.files[0]));
form.addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("is-over");
});
form.addEventListener("dragleave", () => form.classList.remove("is-over"));
form.addEventListener("drop", (event) => {
  form.classList.remove("is-over");
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  take(event.dataTransfer.files[0]);
});
link.addEventListener("click", async () => {
  if (!(await copied(link.dataset.url))) {
    history.replaceState(null, "", link.dataset.url);
    return;
  }
  const words = link.textContent;
  link.textContent = t("copied");
  setTimeout(() => (link.textContent = words), 1500);
});

function fromAddress() {
  // A JWS has no character that would need escaping in an address.
  const jws = location.hash.slice(1);
  if (!jws || jws === "content") return;
  given.value = jws;
  check();
}

addEventListener("hashchange", fromAddress);
fromAddress();
root.dataset.ready = "";
