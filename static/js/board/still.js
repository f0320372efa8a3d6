// Nothing moves under a pointer: tells when somebody points at a list, or is in it with the keyboard.
// Whoever has gone away and left the pointer there does not hold it for ever.

const IDLE_MS = 60_000;
const TOUCHED_MS = 4000;
// The way from a list to the button beside it.
const WAY_MS = 800;

/** Calls `held(true)` and `held(false)`. @param {HTMLElement[]} hosts which hold together */
export function still(hosts, held) {
  let [over, inside, now, timer] = [false, false, false, null];

  function settle() {
    const holds = over || inside;
    if (holds === now) return;
    now = holds;
    held(holds);
  }

  function later(ms, then) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      then();
      settle();
    }, ms);
    settle();
  }

  const gone = () => (over = inside = false);

  function pointed({ pointerType }) {
    over = true;
    later(pointerType === "touch" ? TOUCHED_MS : IDLE_MS, gone);
  }

  function left({ pointerType }) {
    if (pointerType !== "touch") later(WAY_MS, () => (over = false));
  }

  for (const host of hosts) {
    for (const move of /** @type {const} */ (["pointerenter", "pointermove", "pointerdown"])) {
      host.addEventListener(move, pointed, { passive: true });
    }
    host.addEventListener("pointerleave", left);
    host.addEventListener("focusin", ({ target }) => {
      inside = /** @type {Element} */ (target).matches(":focus-visible");
      later(IDLE_MS, gone);
    });
    host.addEventListener("keydown", () => later(IDLE_MS, gone));
    host.addEventListener("focusout", ({ relatedTarget }) => {
      inside = hosts.some((one) => one.contains(/** @type {Node} */ (relatedTarget)));
      settle();
    });
  }
}
