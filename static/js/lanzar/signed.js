// Shows the headers and the signature base of the request: a preview while it is written, the real ones after it was
// sent.

import { toBeSigned } from "../lib/signing.js";
import { t } from "../lib/text.js";

// For values that are known only when the request is signed.
const LATER = "…";

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
    const by = { did, created: LATER, expires: LATER, nonce: LATER };
    const { headers, parameters, base } = await toBeSigned({ method, url: this.baseUrl + path, body }, by);
    // The digest of an older text may be ready later; it must not replace the newer one.
    if (turn !== this.#turn) return;
    this.#show("signed_will", base, { ...headers, "signature-input": `sig=${parameters}`, signature: `sig=:${LATER}:` });
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
