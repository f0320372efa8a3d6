// What has happened since the page was opened, the latest first; bounded.

export const KEPT = 500;

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

  /** The latest event since then of which `test` is true. */
  cause(test, since) {
    return this.events.find((event) => Date.parse(event.at) >= since && test(event)) ?? null;
  }
}
