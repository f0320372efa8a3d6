// Nothing moves under a pointer: tells when somebody points at a list, or is in it with the keyboard. Whoever has gone
// away and left the pointer there does not hold it for ever.

const IDLE_MS = 60_000;
const TOUCHED_MS = 4000;

/** Calls `held(true)` and `held(false)`. */
export function still(host, held) {
  let [over, inside, now, timer] = [false, false, false, null];

  function settle() {
    const holds = over || inside;
    if (holds === now) return;
    now = holds;
    held(holds);
  }

  function begin(ms) {
    clearTimeout(timer);
    timer = setTimeout(end, ms);
    settle();
  }

  function end() {
    over = inside = false;
    settle();
  }

  for (const move of ["pointerenter", "pointermove", "pointerdown"]) {
    host.addEventListener(
      move,
      ({ pointerType }) => {
        over = true;
        begin(pointerType === "touch" ? TOUCHED_MS : IDLE_MS);
      },
      { passive: true },
    );
  }
  host.addEventListener("pointerleave", ({ pointerType }) => {
    if (pointerType === "touch") return;
    over = false;
    settle();
  });
  host.addEventListener("focusin", ({ target }) => {
    inside = target.matches(":focus-visible");
    begin(IDLE_MS);
  });
  host.addEventListener("keydown", () => begin(IDLE_MS));
  host.addEventListener("focusout", ({ relatedTarget }) => {
    inside = host.contains(relatedTarget);
    settle();
  });
}
