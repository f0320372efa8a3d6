// Runs a story's steps: all of them, one at a time, paused, faster or slower.

const SPEEDS = [0.5, 1, 2, 4];

/** Fires `change` whenever its state does; `state` is ready, running, stepping, paused, done or failed. */
export class Player extends EventTarget {
  static speeds = SPEEDS;
  state = "ready";
  speed = 1;
  #going = false;
  #wake = null;

  /**
   * @param {() => Promise<number | null>} take does the next step; gives how long to look at it (ms, at speed 1),
   *   null when nothing is left to do
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
    this.#say("running");
    await this.#go();
  }

  async step() {
    if (this.busy || this.state === "done") return;
    this.#say("stepping");
    await this.#go();
  }

  /** Takes effect after the step that is being done. */
  pause() {
    if (!this.busy) return;
    this.#say("paused");
    this.#wake?.();
  }

  /** Does what is said, one step at a time: whoever says more while one is being done has it heard after that. */
  async #go() {
    if (this.#going) return;
    this.#going = true;
    while (this.busy) {
      const pause = await this.#one();
      if (pause === null) break;
      if (this.state === "stepping") this.#say("paused");
      if (this.state === "running") await this.#look(pause / this.speed);
    }
    this.#going = false;
  }

  async #one() {
    try {
      const pause = await this.take();
      if (pause === null) this.#say("done");
      return pause;
    } catch (error) {
      this.error = error;
      this.#say("failed");
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

  #say(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
