// Keeps things in order as they change. While it is held (the pointer is on the list) nothing moves: things that are
// out of place are counted, and are put in place at the end. Pure.

/** With more changes than this at once, everything is sorted again. */
const MANY = 1000;

/**
 * `find(key)` returns the thing, undefined if it does not exist any more. `rank(thing)` returns a list of texts and
 * numbers to sort by, null to leave the thing out. Equal ranks are in the order of their keys.
 */
export class Order {
  keys = [];
  #ranks = new Map();
  #pending = new Set();
  #held = false;

  constructor(find, rank) {
    this.find = find;
    this.rank = rank;
  }

  /** How many things are out of place. */
  get pending() {
    return this.#pending.size;
  }

  get held() {
    return this.#held;
  }

  /** Replaces everything by these keys and sorts them, also while held. */
  begin(keys) {
    this.#pending.clear();
    this.#ranks.clear();
    const ranked = [];
    for (const key of keys) {
      const rank = this.#rankOf(key);
      if (!rank) continue;
      this.#ranks.set(key, rank);
      ranked.push({ key, rank });
    }
    ranked.sort((one, other) => compare(one.rank, one.key, other.rank, other.key));
    this.keys = ranked.map(({ key }) => key);
  }

  /** Notes that these things have changed. */
  change(keys) {
    for (const key of keys) {
      const [before, after] = [this.#ranks.get(key) ?? null, this.#rankOf(key)];
      if (same(before, after)) this.#pending.delete(key);
      else this.#pending.add(key);
    }
    if (!this.#held) this.settle();
  }

  hold(held) {
    this.#held = held;
    if (!held) this.settle();
  }

  /** Puts everything in place. */
  settle() {
    if (this.#pending.size > MANY) {
      this.begin(new Set([...this.keys, ...this.#pending]));
      return;
    }
    for (const key of this.#pending) {
      const before = this.#ranks.get(key);
      if (before) this.keys.splice(this.#place(key, before), 1);
      const after = this.#rankOf(key);
      // The search for a place compares ranks, so the stored rank must be the one that the key was placed by.
      if (after) {
        this.#ranks.set(key, after);
        this.keys.splice(this.#place(key, after), 0, key);
      } else {
        this.#ranks.delete(key);
      }
    }
    this.#pending.clear();
  }

  #rankOf(key) {
    const thing = this.find(key);
    return thing === undefined ? null : this.rank(thing);
  }

  /** The place of a key with this rank, or where it would be inserted. */
  #place(key, rank) {
    let [low, high] = [0, this.keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.keys[middle];
      if (other !== key && compare(this.#ranks.get(other), other, rank, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compare(rank, key, otherRank, otherKey) {
  for (let at = 0; at < rank.length; at += 1) {
    if (rank[at] !== otherRank[at]) return rank[at] < otherRank[at] ? -1 : 1;
  }
  return key < otherKey ? -1 : 1;
}

const same = (one, other) =>
  one === other || Boolean(one && other && one.every((part, at) => part === other[at]));
