// Things in an order that is kept up as they change, and kept still while somebody points at it: what
// would have moved is counted, and put right at the end. Pure.

/** More changes than this at once are sorted anew. */
const MANY = 1000;

/**
 * `find(key)`: the thing, or undefined once it is gone; `rank(thing)`: a list of texts and numbers to sort by,
 * null to leave it out. Equal ranks stand in the order of their keys.
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

  /** Takes note that these things have changed. */
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

  /** Puts everything where it belongs. */
  settle() {
    if (this.#pending.size > MANY) {
      this.begin(new Set([...this.keys, ...this.#pending]));
      return;
    }
    for (const key of this.#pending) {
      const before = this.#ranks.get(key);
      if (before) this.keys.splice(this.#place(key, before), 1);
      const after = this.#rankOf(key);
      // Its rank goes with its place: those that are looked at to find a place must have theirs.
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

  /** Where a key with that rank stands, or would. */
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
