// The key strip: the state of the visitor's trial key, the calls and time left, and the button that forgets the key.

import "../elements/short-did.js";
import { h, icon, part, swap } from "../lib/dom.js";
import { serverNow } from "../lib/clock.js";
import { duration, number, t } from "../lib/text.js";

export class KeyStrip {
  constructor(root, trial, onForget) {
    this.root = root;
    this.trial = trial;
    this.words = part(root, "key-words");
    this.forget = part(root, "forget");
    this.about = part(root, "about-key");
    this.forget.addEventListener("click", () => confirm(t(trial.adopted ? "forget_confirm_adopted" : "forget_confirm")) && onForget());
    trial.addEventListener("change", () => this.show());
    this.show();
  }

  show() {
    const { state } = this.trial;
    this.root.dataset.state = state;
    this.forget.hidden = this.about.hidden = !this.trial.identities.length || state === "creating";
    this.about.querySelector("p").textContent = t(`key_export_${this.trial.keeping}`);
    swap(this.words, ...this.#parts(state));
  }

  #parts(state) {
    if (state === "unable") return [icon("cross", "is-stop"), ` ${t(`unable_${this.trial.problem}`)}`];
    if (state === "none" || state === "creating") return [t(`key_${state}`)];
    const did = h("short-did", { value: this.trial.identities[0].did });
    if (state === "adopted") {
      const workspace = `${this.root.dataset.workspaces}${this.trial.adopted}/`;
      return [t("key_label"), " ", did, " · ", h("a", { href: workspace }, t("key_adopted"))];
    }
    const left = h(
      "strong",
      {},
      t("calls_left", { left: number(this.trial.callsLeft), of: number(this.trial.callsLimit) }),
    );
    if (state === "expired") return [t("key_label"), " ", did, " · ", h("strong", {}, t("key_expired"))];
    const end = t("expires_in", { in: duration(Date.parse(this.trial.expiresAt) - serverNow()) });
    const parts = [t("key_label"), " ", did, " · ", left, ` · ${end}`];
    if (state === "exhausted")
      parts.push(" · ", h("a", { href: "mailto:preview@intramedial.com" }, t("ask_beta")));
    if (this.trial.keeping !== "stored") parts.push(" · ", t(`key_in_${this.trial.keeping}`));
    return parts;
  }
}
