// The module page's text: the table of contents, the drawing that plays once, and the button that copies the page as
// Markdown. None of it needs Lanzar.

import "./elements/copy-page.js";
import { part } from "./lib/dom.js";

/** A section is the current one when its top is less than this below the top of the window, in px. */
const LINE = 140;
const MOMENT_MS = 2200;

contents(document.querySelector('[data-part="contents"]'));
drawing(document.querySelector('[data-part="drawing"]'));

/** The table of contents: marks the current section; on a narrow page it folds into a bar that names the section. */
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

  /** Scrolls contents that are longer than the window so that the mark is visible; scrolls nothing else. */
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

  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  };
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  mark();
}

/** Plays the moments of the drawing once, when it is visible. It stops when the reader chooses a moment. */
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
      }, MOMENT_MS);
    },
    { threshold: 0.6 },
  );
  root.addEventListener("pointerdown", stop);
  root.addEventListener("keydown", stop);
  seen.observe(root);
}
