// A sample of the text, opened in Lanzar.

/** Calls `open({operation, members, agent})` for the sample whose link is followed. */
export function onSample(open) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-launch]");
    if (link) open(JSON.parse(link.dataset.launch));
  });
}
