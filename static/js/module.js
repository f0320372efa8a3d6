// The module page's text: contents that say where one is, the drawing that tells its story once, the page as
// Markdown. Lanzar is not needed for any of it.

import "./elements/copy-page.js";
import { part } from "./lib/dom.js";

/** A section counts as read from when its top passes this far below the top of the window. */
const LINE = 140;
const EVERY_MS = 2200;

contents(document.querySelector('[data-part="contents"]'));
drawing(document.querySelector('[data-part="drawing"]'));

/** The table of contents: marks the section that is read; on a narrow page it folds into a bar that names it. */
function contents(root) {
  const button = part(root, "contents-button");
  const here = part(root, "contents-here");
  const links = [...root.querySelectorAll('a[href^="#"]')];
  const targets = links.map((link) => document.getElementById(link.hash.slice(1)));
  let current = null;

  function open(opened) {
    root.classList.toggle("is-open", opened);
    button.setAttribute("aria-expanded", String(opened));
  }

  function mark() {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const passed = targets.findLastIndex((target) => target.getBoundingClientRect().top <= LINE);
    const link = atEnd ? links.at(-1) : links[passed];
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "location");
    current = link;
    here.textContent = link?.textContent ?? "";
    reveal(link);
  }

  /** Keeps the mark in sight where the contents are longer than the window; moves nothing else. */
  function reveal(link) {
    if (!link || root.scrollHeight <= root.clientHeight) return;
    const { top, bottom } = link.getBoundingClientRect();
    const frame = root.getBoundingClientRect();
    if (top < frame.top) root.scrollTop -= frame.top - top;
    if (bottom > frame.bottom) root.scrollTop += bottom - frame.bottom;
  }

  button.addEventListener("click", () => open(button.getAttribute("aria-expanded") === "false"));
  root.addEventListener("click", (event) => event.target.closest('a[href^="#"]') && open(false));
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || button.getAttribute("aria-expanded") === "false") return;
    open(false);
    button.focus();
  });

  let asked = false;
  const later = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      mark();
    });
  };
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  mark();
}

/** The drawing tells its story once, when it is seen, and stops when the reader chooses a moment. */
function drawing(root) {
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
