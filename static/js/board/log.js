// The events since the page was opened: the latest ones, and counts for each second. Both are bounded. Pure.

export const KEPT = 500;
/** Of how many seconds the rates are kept. */
export const SECONDS = 120;
// A timer that is late by more seconds than this was suspended, and what happened meanwhile is not known.
const SKIPPED = 3;

const KINDS = { granted: "grants", renewed: "grants", queued: "refusals", deadlock: "refusals" };

/** The latest events, latest first. */
export class Log {
  events = [];
  #next = 0;

  note(events) {
    if (!events.length) return;
    const fresh = events.map((event) => ({ ...event, id: String((this.#next += 1)) }));
    this.events = [...fresh.reverse(), ...this.events].slice(0, KEPT);
  }

  find(id) {
    return this.events.find((event) => event.id === id);
  }

  of(resource) {
    return this.events.filter((event) => event.resource === resource);
  }

  /** The latest event at or after `since` for which `test` is true; null if there is none. */
  cause(test, since) {
    return this.events.find((event) => Date.parse(event.at) >= since && test(event)) ?? null;
  }
}

/** What happened in each of the last seconds, by the server's clock. */
export class Rates {
  #seconds = new Map();
  #measured = null;

  note(events) {
    for (const { event, at } of events) {
      const kind = KINDS[event];
      if (kind) this.#of(second(Date.parse(at)))[kind] += 1;
    }
  }

  /** Notes how many agents wait at `now`, while the board is live. A second that was not measured is not known. */
  measure(now, waiters) {
    const here = second(now);
    const from = here - (this.#measured ?? here) > SKIPPED ? here : (this.#measured ?? here);
    for (let at = from; at <= here; at += 1) Object.assign(this.#of(at), { known: true, waiters });
    this.#measured = here;
    for (const at of this.#seconds.keys()) if (at < here - SECONDS) this.#seconds.delete(at);
  }

  /**
   * The values of `kind` in each second up to the last whole one, oldest first; null where it is not known.
   */
  series(kind, now) {
    const last = second(now) - 1;
    return Array.from({ length: SECONDS }, (_, index) => {
      const here = this.#seconds.get(last - SECONDS + 1 + index);
      return here?.known ? here[kind] : null;
    });
  }

  #of(at) {
    if (!this.#seconds.has(at))
      this.#seconds.set(at, { grants: 0, refusals: 0, waiters: null, known: false });
    return this.#seconds.get(at);
  }
}

const second = (ms) => Math.floor(ms / 1000);
