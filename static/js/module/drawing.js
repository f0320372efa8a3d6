// The drawing tells its story once, when it is seen, and then stands still. Whoever chooses a moment has it.

const EVERY_MS = 2200;

export function drawing(root) {
  const moments = [...root.querySelectorAll('input[type="radio"]')];
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  let next = 1;
  let timer = null;

  function stop() {
    clearInterval(timer);
    seen.disconnect();
    root.removeEventListener("pointerdown", stop);
    root.removeEventListener("keydown", stop);
  }

  const seen = new IntersectionObserver(
    ([entry]) => {
      clearInterval(timer);
      if (!entry.isIntersecting) return;
      timer = setInterval(() => {
        moments[next].checked = true;
        next += 1;
        if (next === moments.length) stop();
      }, EVERY_MS);
    },
    { threshold: 0.6 },
  );
  root.addEventListener("pointerdown", stop);
  root.addEventListener("keydown", stop);
  seen.observe(root);
}
