// A form is sent once: pressing again before the answer has come does nothing.

const sent = new WeakSet();

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method !== "post" || event.defaultPrevented) return;
  if (sent.has(form)) return event.preventDefault();
  sent.add(form);
  event.submitter?.setAttribute("aria-disabled", "true");
});

// The back button may restore the page as it was: then the form may be sent again.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.forms) {
    sent.delete(form);
    for (const button of form.querySelectorAll("[aria-disabled]")) button.removeAttribute("aria-disabled");
  }
});
