// A sample of the text, opened in Lanzar.

/** Calls `open({operation, members, agent})` for the sample whose link is followed. */
export function onSample(open) {
  document.addEventListener("click", (event) => {
    const link = /** @type {HTMLAnchorElement} */ (/** @type {Element} */ (event.target).closest?.("a[data-launch]"));
    if (!link) return;
    // The move to Lanzar comes first: left to the browser, it would take the focus from the editor again.
    event.preventDefault();
    location.hash = link.hash;
    open(JSON.parse(link.dataset.launch));
  });
}
