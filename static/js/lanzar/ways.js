// Shows the same request in other forms: curl, a program, a command, an MCP client. The code for all but curl is
// fetched when the visitor chooses one of them.

import "../elements/tabs.js";
import { h, part, swap } from "../lib/dom.js";
import { furnish } from "../lib/parts.js";
import { t } from "../lib/text.js";
import { toCurl } from "./operations.js";

/** The agent in samples as long as the reader has not named one. */
const SAMPLE_AGENT = "did:web:agents.example:ana";

export class Ways {
  #written = null;
  #snippets = null;

  constructor(root, baseUrl) {
    this.baseUrl = baseUrl;
    this.tabs = part(root, "ways");
    this.code = root.querySelector("#way");
    this.clients = part(root, "mcp-clients");
    this.tabs.addEventListener("choose", () => this.#show());
  }

  /**
   * Shows a request in the chosen form.
   * @param {{operation: string, method: string, path: string, body?: string, value?: object}} written the editor's
   *   request; `value` if it is JSON
   */
  follow(written, placeholder) {
    const name = (text) => text?.replaceAll(placeholder, SAMPLE_AGENT);
    const named = name(JSON.stringify(written.value));
    this.#written = {
      ...written,
      baseUrl: this.baseUrl,
      path: written.path.replaceAll(encodeURIComponent(placeholder), encodeURIComponent(SAMPLE_AGENT)),
      body: written.body && (named ?? written.body),
      value: named && JSON.parse(named),
    };
    this.#show();
  }

  async #show() {
    const way = this.tabs.chosen.dataset.way;
    this.code.closest(".code").hidden = way === "mcp";
    this.clients.hidden = way !== "mcp";
    if (way === "curl") {
      this.#text(way, toCurl(this.baseUrl, this.#written));
      return;
    }
    this.#snippets ??= Promise.all([import("./snippets.js"), furnish("snippets")]);
    const [{ SNIPPETS, mcp }] = await this.#snippets;
    if (this.tabs.chosen.dataset.way !== way) return;
    if (way === "mcp") this.#mcp(mcp(this.#written));
    else this.#text(way, SNIPPETS[way](this.#written));
  }

  #text(way, text) {
    this.code.dataset.shows = way;
    this.code.textContent = text;
  }

  #mcp({ clients, tool, input }) {
    // Sections that the reader opened stay open while the request is edited.
    const open = [...this.clients.querySelectorAll("details")].map((one) => one.open);
    swap(
      this.clients,
      ...clients.map(({ name, place, configuration }, index) =>
        h(
          "details",
          { class: "disclosure", open: open[index] ?? index === 0 },
          h("summary", {}, name),
          h("div", {}, h("p", { class: "quiet" }, place), block(configuration)),
        ),
      ),
      h("p", { class: "label" }, t("mcp_then"), " ", h("code", { "data-address": `${this.baseUrl}/mcp/compat` }, tool)),
      block(input),
    );
  }
}

const block = (text) =>
  h(
    "div",
    { class: "code wraps" },
    h("pre", { tabindex: "0" }, h("code", {}, text)),
    h("copy-button", { "data-label": t("copy"), "data-done": t("copied") }),
  );
