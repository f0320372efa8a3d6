// Building the page. Texts become text nodes, never HTML: names and DIDs are other people's words.

const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes by name, `on…` as listeners, false and null left out; children flattened. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function icon(name, className = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `icon ${className}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${document.body.dataset.icons}#${name}`);
  svg.append(use);
  return svg;
}

/** Takes the icons into the page: those drawn from now on need no server that answers. */
export async function keepIcons() {
  const answer = await fetch(document.body.dataset.icons);
  if (!answer.ok) return;
  const icons = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
  icons.setAttribute("class", "visually-hidden");
  icons.setAttribute("aria-hidden", "true");
  document.body.append(document.adoptNode(icons));
  document.body.dataset.icons = "";
}

/** The element marked `data-part="name"` inside `root`. */
export const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

/** Whether `text` is in the clipboard now: a page that is not served safely, or is not let, has none. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const FOCUSABLE = "a[href], button, input, select, summary, textarea";

/** Has these children instead of what `element` has; the focus, if it was in there, stays in its place there. */
export function swap(element, ...children) {
  const before = element.contains(document.activeElement) && [...element.querySelectorAll(FOCUSABLE)];
  const place = before ? before.indexOf(document.activeElement) : -1;
  element.replaceChildren(...children);
  if (before) element.querySelectorAll(FOCUSABLE)[place]?.focus({ preventScroll: true });
}

/** Something has really moved, and is seen to. */
export function moved(element) {
  element.classList.remove("has-moved");
  requestAnimationFrame(() => element.classList.add("has-moved"));
}

/** Brings `container` in line with `items`, in order. Elements of items that stay are kept, and so is the focus. */
export function keyed(container, items, key, create, update) {
  const old = new Map([...container.children].map((element) => [element.dataset.key, element]));
  let place = container.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = old.get(name);
    old.delete(name);
    if (!element) {
      element = create(item);
      element.dataset.key = name;
    }
    update(element, item);
    if (element === place) place = place.nextElementSibling;
    else container.insertBefore(element, place);
  }
  for (const element of old.values()) element.remove();
}
