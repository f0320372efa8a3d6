// Chooses the agent that signs, of the agents of the trial, each with its own key. One agent is enough for a grant; a
// refusal takes two.

import { h, icon, swap } from "../lib/dom.js";
import { data, t } from "../lib/text.js";
import { Refused } from "../lib/trial.js";

const { trialAgents } = data("limits");
const letter = (index) => String.fromCharCode(65 + index);

export class Signers {
  #chosen = 0;

  /** @param {(did: string) => void} onChoose called with the DID that signs from now on */
  constructor(root, trial, onChoose) {
    this.root = root;
    this.trial = trial;
    this.onChoose = onChoose;
    this.show();
  }

  get chosen() {
    return this.trial.identities[this.#chosen];
  }

  /** Chooses the agent with this letter; false if the trial has none. Agent A can be chosen before there is a key. */
  choose(name) {
    const index = name.charCodeAt(0) - letter(0).charCodeAt(0);
    if (index >= Math.max(1, this.trial.identities.length)) return false;
    this.#chosen = index;
    this.show();
    return true;
  }

  /** Chooses the agent with this DID; false if it is not in the trial. */
  chooseDid(did) {
    const index = this.trial.identities.findIndex((identity) => identity.did === did);
    return index >= 0 && this.choose(letter(index));
  }

  /** "Agente A" for an agent of the trial, or else an empty text; `form` is the key of the text. */
  nameOf(did, form = "agent_name") {
    const index = this.trial.identities.findIndex((identity) => identity.did === did);
    return index < 0 ? "" : t(form, { letter: letter(index) });
  }

  show() {
    const { identities } = this.trial;
    this.#chosen = Math.min(this.#chosen, Math.max(0, identities.length - 1));
    this.root.hidden = identities.length === 0;
    if (!identities.length) return;
    const add = h(
      "button",
      { type: "button", class: "link-button", onclick: () => this.#add() },
      t("add_agent"),
    );
    swap(
      this.root,
      h(
        "fieldset",
        { class: "signers" },
        h("legend", {}, t("signs_as")),
        identities.map((_, index) =>
          h(
            "label",
            {},
            h("input", {
              type: "radio",
              name: "signer",
              value: index,
              checked: index === this.#chosen,
              onchange: () => this.#choose(index),
            }),
            h("span", {}, letter(index)),
          ),
        ),
        identities.length < trialAgents && !this.trial.adopted && add,
      ),
      h("p", { class: "signer-error quiet", role: "status" }),
    );
    this.onChoose(this.chosen.did);
  }

  #choose(index) {
    this.#chosen = index;
    this.onChoose(this.chosen.did);
  }

  /** Adds agents until the trial has `count`. */
  async atLeast(count) {
    await this.trial.ensure();
    while (this.trial.identities.length < count) await this.trial.addAgent();
    this.show();
  }

  async #add() {
    try {
      await this.trial.addAgent();
      this.#chosen = this.trial.identities.length - 1;
      this.show();
      this.root.querySelector("input:checked").focus();
    } catch (error) {
      const words =
        error instanceof Refused
          ? (error.answer.body?.detail ?? t("problem_unknown"))
          : t("problem_unreachable");
      this.root.querySelector(".signer-error").replaceChildren(icon("cross", "is-stop"), ` ${words}`);
    }
  }
}
