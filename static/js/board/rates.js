// What happened in each second of the last two minutes, by the server's clock. Pure.

export const SECONDS = 120;

const KINDS = { granted: "grants", renewed: "grants", queued: "refusals", deadlock: "refusals" };

export class Rates {
  #seconds = new Map();
  #since = null;

  /** Begins to count: before this there is nothing to know. */
  begin(now) {
    this.#since ??= second(now);
  }

  note(events) {
    for (const { event, at } of events) {
      const kind = KINDS[event];
      if (kind) this.#of(second(Date.parse(at)))[kind] += 1;
    }
  }

  /** How many stood in queues at `now`. */
  measure(now, waiters) {
    const here = this.#of(second(now));
    here.waiters = waiters;
    for (const at of this.#seconds.keys()) if (at < second(now) - SECONDS) this.#seconds.delete(at);
  }

  /** The values of `kind` in each second up to the last whole one, oldest first; null where nothing was seen. */
  series(kind, now) {
    const last = second(now) - 1;
    let known = null;
    return Array.from({ length: SECONDS }, (_, index) => {
      const at = last - SECONDS + 1 + index;
      if (this.#since === null || at < this.#since) return null;
      const here = this.#seconds.get(at);
      if (kind !== "waiters") return here?.[kind] ?? 0;
      known = here?.waiters ?? known;
      return known;
    });
  }

  #of(at) {
    if (!this.#seconds.has(at)) this.#seconds.set(at, { grants: 0, refusals: 0, waiters: undefined });
    return this.#seconds.get(at);
  }
}

const second = (ms) => Math.floor(ms / 1000);
