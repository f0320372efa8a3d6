// A form is sent once: what is pressed again while the answer is on its way does nothing.

const sent = new WeakSet();

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post" || event.defaultPrevented) return;
  if (sent.has(form)) return event.preventDefault();
  sent.add(form);
  event.submitter?.setAttribute("aria-disabled", "true");
});

// Back from the answer, the page may be as it was left.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.forms) {
    sent.delete(form);
    for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
  }
});
