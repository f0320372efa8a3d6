// The same request in other ways: curl, a program, a command, an MCP client. What writes all but curl is fetched
// when it is asked for.

import "../elements/tabs.js";
import { h, part, swap } from "../lib/dom.js";
import { furnish } from "../lib/parts.js";
import { t } from "../lib/text.js";
import { toCurl } from "./operations.js";

/** Stands in samples for an agent that the reader has not named yet. */
const SAMPLE_AGENT = "did:web:agents.example:ana";

export class Ways {
  #asked = null;
  #snippets = null;

  constructor(root, baseUrl) {
    this.baseUrl = baseUrl;
    this.tabs = part(root, "ways");
    this.code = root.querySelector("#way");
    this.clients = part(root, "mcp-clients");
    this.tabs.addEventListener("choose", () => this.#show());
  }

  /** @param {{operation: string, method: string, path: string, body?: string, value?: object}} asked what stands in the editor; `value` if it is JSON */
  follow(asked, placeholder) {
    const name = (text) => text?.replaceAll(placeholder, SAMPLE_AGENT);
    const named = name(JSON.stringify(asked.value));
    this.#asked = {
      ...asked,
      baseUrl: this.baseUrl,
      path: asked.path.replaceAll(encodeURIComponent(placeholder), encodeURIComponent(SAMPLE_AGENT)),
      body: asked.body && (named ?? asked.body),
      value: named && JSON.parse(named),
    };
    this.#show();
  }

  async #show() {
    const way = this.tabs.chosen.dataset.way;
    this.code.closest(".code").hidden = way === "mcp";
    this.clients.hidden = way !== "mcp";
    if (way === "curl") {
      this.#text(way, toCurl(this.baseUrl, this.#asked));
      return;
    }
    this.#snippets ??= Promise.all([import("./snippets.js"), furnish("snippets")]);
    const [{ SNIPPETS, mcp }] = await this.#snippets;
    if (this.tabs.chosen.dataset.way !== way) return;
    if (way === "mcp") this.#mcp(mcp(this.#asked));
    else this.#text(way, SNIPPETS[way](this.#asked));
  }

  #text(way, text) {
    this.code.dataset.shows = way;
    this.code.textContent = text;
  }

  #mcp({ clients, tool, input }) {
    // What was opened to be read stays open while the request is edited.
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
