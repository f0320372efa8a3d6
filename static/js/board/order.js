// Things in an order that is kept up as they change, and kept still while somebody points at it: what would have
// moved is counted, and put right at the end. Pure.

/**
 * `find(key)`: the thing, or undefined once it is gone; `rank(thing)`: a list of texts and numbers to sort by, null to
 * leave it out. Equal ranks stand in the order of their keys.
 */
export class Order {
  keys = [];
  #slots = [];
  #ranks = new Map();
  #pending = new Set();
  #held = false;

  constructor(find, rank) {
    this.find = find;
    this.rank = rank;
  }

  /** How many things are not where they belong. */
  get pending() {
    return this.#pending.size;
  }

  get held() {
    return this.#held;
  }

  /** Begins anew with all of these keys, held or not. */
  begin(keys) {
    this.#pending.clear();
    this.#ranks.clear();
    const slots = [];
    for (const key of keys) {
      const rank = this.#rankOf(key);
      if (!rank) continue;
      this.#ranks.set(key, rank);
      slots.push({ key, rank });
    }
    this.#take(slots.sort(compare));
  }

  /** Takes note that these things have changed. */
  change(keys) {
    for (const key of keys) {
      const [before, after] = [this.#ranks.get(key), this.#rankOf(key)];
      if (same(before, after)) this.#pending.delete(key);
      else this.#pending.add(key);
    }
    if (!this.#held) this.settle();
  }

  hold(held) {
    this.#held = held;
    if (!held) this.settle();
  }

  /** Puts everything where it belongs. */
  settle() {
    if (!this.#pending.size) return;
    const moved = [];
    for (const key of this.#pending) {
      const rank = this.#rankOf(key);
      if (rank) {
        this.#ranks.set(key, rank);
        moved.push({ key, rank });
      } else {
        this.#ranks.delete(key);
      }
    }
    const stay = this.#slots.filter(({ key }) => !this.#pending.has(key));
    this.#pending.clear();
    this.#take(merged(stay, moved.sort(compare)));
  }

  #rankOf(key) {
    const thing = this.find(key);
    return thing === undefined ? null : this.rank(thing);
  }

  #take(slots) {
    this.#slots = slots;
    this.keys = slots.map(({ key }) => key);
  }
}

function compare(one, other) {
  for (let at = 0; at < one.rank.length; at += 1) {
    if (one.rank[at] !== other.rank[at]) return one.rank[at] < other.rank[at] ? -1 : 1;
  }
  return one.key < other.key ? -1 : 1;
}

const same = (one, other) =>
  one === other || Boolean(one && other && one.every((part, at) => part === other[at]));

function merged(stay, moved) {
  if (!moved.length) return stay;
  const all = [];
  let next = 0;
  for (const slot of stay) {
    while (next < moved.length && compare(moved[next], slot) < 0) all.push(moved[next++]);
    all.push(slot);
  }
  return all.concat(moved.slice(next));
}
