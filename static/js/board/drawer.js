// The details of one resource: its holders, its waiters with reason and latest time, its events. It is a dialog; when
// it closes, the focus returns to where it was.

import "../elements/countdown.js";
import "../elements/short-did.js";
import { serverNow } from "../lib/clock.js";
import { h, keyed, part, put } from "../lib/dom.js";
import { isOver } from "../lib/live.js";
import { clockTime, data, duration, number, seconds, t } from "../lib/text.js";
import { Sections } from "../parts/sections.js";
import { chain, why } from "./why.js";

const limits = data("limits");
const EVENTS_SHOWN = 12;
const EMPTY = { holders: [], queue: [] };

export class Drawer {
  #resource = "";
  #opener = null;
  #asked = null;

  /**
   * @param {HTMLDialogElement} dialog @param {{picture, log, address, live, ask}} board
   * @param {(name: string) => void} back
   */
  constructor(dialog, board, back) {
    this.dialog = dialog;
    this.board = board;
    this.back = back;
    this.sections = new Sections(() => "");
    part(dialog, "section").append(this.sections.element);
    this.waiter = part(dialog, "waiter");
    this.waiter.addEventListener("change", () => this.#why());
    part(dialog, "close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
    dialog.addEventListener("close", () => {
      const name = this.#resource;
      this.#resource = "";
      board.address.set({ recurso: "" });
      if (this.#opener?.isConnected) this.#opener.focus({ preventScroll: true });
      else this.back(name);
    });
  }

  /** Shows the resource that the address names, or nothing. */
  follow() {
    const { recurso } = this.board.address;
    if (recurso === this.#resource) return;
    if (!recurso) {
      this.dialog.close();
      return;
    }
    this.#resource = recurso;
    if (!this.dialog.open) this.#opener = document.activeElement;
    put(part(this.dialog, "name"), recurso);
    part(this.dialog, "copy").dataset.copy = recurso;
    this.waiter.replaceChildren();
    this.draw();
    if (!this.dialog.open) this.dialog.showModal();
    this.#record();
  }

  draw() {
    if (!this.#resource) return;
    const { picture, log } = this.board;
    const section = { resource: this.#resource, ...(picture?.sections.get(this.#resource) ?? EMPTY) };
    this.sections.show([section]);
    this.#waiters(section.queue);
    this.#why();
    const events = log.of(this.#resource).slice(0, EVENTS_SHOWN);
    part(this.dialog, "seen-part").hidden = !events.length;
    keyed(
      part(this.dialog, "seen"),
      events,
      ({ id }) => id,
      entry,
      () => {},
    );
  }

  /** Called once a second: updates the times. */
  tick() {
    if (this.#resource) this.#why();
  }

  #waiters(queue) {
    const chosen = this.waiter.value;
    const options = queue.map(({ actorDid }, place) => [
      actorDid,
      t("bd_waiter", { place: number(place + 1), did: actorDid }),
    ]);
    const known = [...this.waiter.options]
      .map(({ value, textContent }) => `${value} ${textContent}`)
      .join("\n");
    if (known === options.map((option) => option.join(" ")).join("\n")) return;
    this.waiter.replaceChildren(...options.map(([value, words]) => h("option", { value }, words)));
    if (queue.some(({ actorDid }) => actorDid === chosen)) this.waiter.value = chosen;
  }

  #why() {
    const section = this.board.picture?.sections.get(this.#resource) ?? EMPTY;
    const did = this.waiter.value;
    const found = did ? why(section, did, serverNow(), limits) : null;
    part(this.dialog, "why-part").hidden = !found;
    if (!found) return;
    const lines = found.offered
      ? [t("bd_why_offered", { left: duration(limits.offerMs) })]
      : this.#reasons(found);
    keyed(
      part(this.dialog, "why"),
      lines.map((words, at) => ({ words, at })),
      ({ at }) => String(at),
      () => h("li"),
      (item, { words }) => put(item, words),
    );
    const { until, offered } = found;
    part(this.dialog, "latest").hidden = offered;
    if (offered) return;
    const left = Math.max(0, until - serverNow());
    put(
      part(this.dialog, "latest"),
      t(left ? "bd_why_latest" : "bd_why_now", { at: clockTime(until), left: seconds(left + 999) }),
    );
  }

  #reasons({ holders, ahead }) {
    const lines = holders
      .slice(0, 4)
      .map(({ holder, fencingToken, expiresAt }) =>
        t("bd_why_holds", { did: holder, token: number(fencingToken), at: clockTime(expiresAt) }),
      );
    if (holders.length > 4) lines.push(t("bd_and_more", { n: number(holders.length - 4) }));
    for (const { actorDid } of ahead)
      lines.push(
        t("bd_why_ahead", {
          did: actorDid,
          claim: duration(limits.offerMs),
          ttl: duration(limits.leaseTtlMs),
        }),
      );
    for (const { did, resource, holder } of holders[0]
      ? chain(this.board.picture, holders[0].holder, 4)
      : []) {
      lines.push(t(holder ? "bd_why_chain" : "bd_why_chain_free", { did, resource, holder }));
    }
    return lines;
  }

  /** Fetches the server's record: history, receipts, and for an owner the way to revoke a lease. */
  async #record() {
    const host = part(this.dialog, "record");
    const resource = this.#resource;
    this.#asked = resource;
    host.replaceChildren(h("p", { class: "quiet" }, t("bd_fetching")));
    let found;
    try {
      const answer = await this.board.ask(host.dataset.from, { nombre: resource });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      found = [...document.importNode(part(page, "record"), true).childNodes];
    } catch {
      // If the board has ended for good, the reason is shown above.
      found = isOver(this.board.live.state) ? [] : [h("p", { class: "quiet" }, t("bd_not_fetched"))];
    }
    if (this.#asked === resource) host.replaceChildren(...found);
  }
}

const entry = ({ at, event, actorDid, fencingToken }) =>
  h(
    "li",
    {},
    h("time", { datetime: at }, clockTime(at)),
    h(
      "span",
      {},
      t(`bd_event_${event}`),
      fencingToken ? ` · ${t("token", { token: number(fencingToken) })}` : "",
      " · ",
      h("short-did", { value: actorDid }),
    ),
  );
