// Elements of the page. Texts become text nodes, never HTML, because names and DIDs come from other people.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes `on…` are listeners; false, null and undefined are left out. Children are flattened. */
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

/** An SVG element, with attributes and children. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const icon = (name, className = "") =>
  s(
    "svg",
    { class: `icon ${className}`.trim(), "aria-hidden": "true" },
    s("use", { href: `${document.body.dataset.icons}#${name}` }),
  );

/** Sets the text of `element`. The same text again costs nothing. */
export function put(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** Copies the icons into the page: icons drawn later do not need the server. */
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

/** Copies `text`; returns whether it could. A page without HTTPS, or without permission, has no clipboard. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const FOCUSABLE = "a[href], button, input, select, summary, textarea";

/** Replaces the children of `element`. A focus inside goes to the new element at the same place. */
export function swap(element, ...children) {
  const before = element.contains(document.activeElement) && [...element.querySelectorAll(FOCUSABLE)];
  const place = before ? before.indexOf(document.activeElement) : -1;
  element.replaceChildren(...children);
  if (before) element.querySelectorAll(FOCUSABLE)[place]?.focus({ preventScroll: true });
}

/** Shows with an animation that an element stands for something that moved. */
export function moved(element) {
  element.classList.remove("has-moved");
  requestAnimationFrame(() => element.classList.add("has-moved"));
}

/** Makes the children of `container` match `items`, in order. Items that stay keep their element, and so the focus. */
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
