// The headers and the signature base of the request: as they will be while it is written, as they were once it
// was sent.

import { toBeSigned } from "../lib/signing.js";
import { t } from "../lib/text.js";

// Known only in the moment of signing.
const THEN = "…";

export class Signed {
  #turn = 0;

  constructor(root, baseUrl) {
    this.root = root;
    this.baseUrl = baseUrl;
    this.notes = root.querySelectorAll('[data-part="signed-note"]');
    this.headers = root.querySelector("#sent-headers");
    this.base = root.querySelector("#signature-base");
  }

  /** Shows what will be signed of `request` by `did`. */
  async preview(/** @type {{method: string, path: string, body?: string}} */ { method, path, body }, did) {
    const turn = ++this.#turn;
    if (!globalThis.crypto?.subtle) {
      this.#show("unable_insecure", "", {});
      return;
    }
    const by = { did, created: THEN, expires: THEN, nonce: THEN };
    const { headers, parameters, base } = await toBeSigned({ method, url: this.baseUrl + path, body }, by);
    // A slower digest of an older text must not stand over a newer one.
    if (turn !== this.#turn) return;
    this.#show("signed_will", base, { ...headers, "signature-input": `sig=${parameters}`, signature: `sig=:${THEN}:` });
  }

  /** Shows what was signed and sent. */
  show({ base, headers }) {
    this.#turn += 1;
    this.#show("signed_was", base, headers);
  }

  #show(note, base, headers) {
    for (const element of this.notes) element.textContent = t(note);
    this.base.textContent = base;
    this.headers.textContent = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n");
  }
}
