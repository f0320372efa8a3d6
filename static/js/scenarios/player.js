// Plays the steps of a story: all of them or one at a time, with pause and speed.

const SPEEDS = [0.5, 1, 2, 4];

/** Fires `change` whenever its state does; `state` is ready, running, stepping, paused, done or failed. */
export class Player extends EventTarget {
  static speeds = SPEEDS;
  state = "ready";
  speed = 1;
  #going = false;
  #wake = null;

  /**
   * @param {() => Promise<number | null>} take takes the next step; returns how long to show it (ms, at speed 1),
   *   null after the last step
   */
  constructor(take) {
    super();
    this.take = take;
  }

  get busy() {
    return this.state === "running" || this.state === "stepping";
  }

  async run() {
    if (this.busy || this.state === "done") return;
    this.#setState("running");
    await this.#go();
  }

  async step() {
    if (this.busy || this.state === "done") return;
    this.#setState("stepping");
    await this.#go();
  }

  /** Takes effect after the current step. */
  pause() {
    if (!this.busy) return;
    this.#setState("paused");
    this.#wake?.();
  }

  /** Takes steps, one at a time. A command during a step takes effect after that step. */
  async #go() {
    if (this.#going) return;
    this.#going = true;
    while (this.busy) {
      const pause = await this.#one();
      if (pause === null) break;
      if (this.state === "stepping") this.#setState("paused");
      if (this.state === "running") await this.#look(pause / this.speed);
    }
    this.#going = false;
  }

  async #one() {
    try {
      const pause = await this.take();
      if (pause === null) this.#setState("done");
      return pause;
    } catch (error) {
      this.error = error;
      this.#setState("failed");
      return null;
    }
  }

  #look(ms) {
    if (ms <= 0) return null;
    return /** @type {Promise<void>} */ (new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }));
  }

  #setState(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
