// The last trust moves of agents: from events, and older ones from the server. The server is asked only for agents
// whose rows are visible, and for many at once.

import { isOver } from "../lib/live.js";

const SHOWN = 4;
const AT_ONCE = 40;
const PAUSE_MS = 250;
const RETRY_MS = 5000;

export class Conduct {
  #moves = new Map();
  #asked = new Set();
  #wanted = new Set();
  #timer = null;

  /** @param {string} path of the server's list of moves @param {{picture, live, ask}} board */
  constructor(path, board, drawn) {
    this.path = path;
    this.board = board;
    this.drawn = drawn;
  }

  note(events) {
    for (const { actorDid, trust, at } of events ?? []) {
      if (trust?.delta) this.#add(actorDid, [{ delta: trust.delta, at }]);
    }
  }

  /** The last moves of an agent, latest first. If they are not known yet, the server is asked for them. */
  moves(did) {
    if (!this.#asked.has(did)) {
      this.#asked.add(did);
      this.#wanted.add(did);
      this.#timer ??= setTimeout(() => this.#ask(), PAUSE_MS);
    }
    return this.#moves.get(did) ?? [];
  }

  async #ask() {
    const dids = [...this.#wanted].slice(0, AT_ONCE);
    for (const did of dids) this.#wanted.delete(did);
    try {
      const query = dids.map((did) => ["did", did]);
      const { agents } = await (await this.board.ask(this.path, query)).json();
      for (const { did, trust, moves } of agents) this.#take(did, trust, moves);
      this.drawn();
    } catch {
      // A row that is still visible after a pause asks again, unless the board has ended for good.
      if (isOver(this.board.live.state)) return;
      setTimeout(() => { for (const did of dids) this.#asked.delete(did); }, RETRY_MS);
    }
    this.#timer = this.#wanted.size ? setTimeout(() => this.#ask(), PAUSE_MS) : null;
  }

  #take(did, trust, moves) {
    const agent = this.board.picture?.agents.get(did);
    // A score that came with an event meanwhile is newer.
    if (agent && agent.trust === null) agent.trust = trust;
    this.#add(did, moves);
  }

  #add(did, moves) {
    const all = new Map([...(this.#moves.get(did) ?? []), ...moves].map((move) => [move.at, move]));
    const latest = [...all.values()].sort((a, b) => (a.at < b.at ? 1 : -1));
    this.#moves.set(did, latest.slice(0, SHOWN));
  }
}
