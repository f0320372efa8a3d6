// Reports when the pointer is on a list or the keyboard focus is in it, so that nothing moves there. A pointer or focus
// that does nothing for a minute no longer holds the list.

const IDLE_MS = 60_000;
const TOUCHED_MS = 4000;
// Time to move the pointer from a list to the button beside it.
const LEAVE_MS = 800;

/** Calls `held(true)` and `held(false)`. @param {HTMLElement[]} hosts the elements that hold the list */
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

  const letGo = () => (over = inside = false);

  function pointed({ pointerType }) {
    over = true;
    later(pointerType === "touch" ? TOUCHED_MS : IDLE_MS, letGo);
  }

  function left({ pointerType }) {
    if (pointerType !== "touch") later(LEAVE_MS, () => (over = false));
  }

  for (const host of hosts) {
    for (const move of /** @type {const} */ (["pointerenter", "pointermove", "pointerdown"])) {
      host.addEventListener(move, pointed, { passive: true });
    }
    host.addEventListener("pointerleave", left);
    host.addEventListener("focusin", ({ target }) => {
      inside = /** @type {Element} */ (target).matches(":focus-visible");
      later(IDLE_MS, letGo);
    });
    host.addEventListener("keydown", () => later(IDLE_MS, letGo));
    host.addEventListener("focusout", ({ relatedTarget }) => {
      inside = hosts.some((one) => one.contains(/** @type {Node} */ (relatedTarget)));
      settle();
    });
  }
}
