// The scenarios' section of the page: the code that plays them is fetched when the section comes near the window.

import { part } from "../lib/dom.js";
import { furnish } from "../lib/parts.js";
import { data } from "../lib/text.js";

const NEAR = "300px";

/** @param {() => Promise<{trial, live, signers, baseUrl}>} page returns what the stories need */
export function scenarios(root, page) {
  const stage = part(root, "story");
  const programs = Object.fromEntries(data("scenarios").map(({ id, exports }) => [id, exports]));
  const chosen = () => root.querySelector('input[name="scenario"]:checked').value;

  async function show() {
    const needed = [import("./scenarios.js"), page(), furnish("scenarios")];
    const [{ show }, played] = await Promise.all(needed);
    show(stage, chosen(), played, programs);
    root.dataset.ready = "";
  }

  // Links in the page's text choose a story.
  document.addEventListener("click", ({ target }) => {
    const link = /** @type {Element} */ (target).closest?.("a[data-scenario]");
    const story = /** @type {HTMLElement} */ (link)?.dataset.scenario;
    const radio = story && root.querySelector(`input[name="scenario"][value="${story}"]`);
    if (!radio || radio.checked) return;
    radio.checked = true;
    if (root.dataset.ready === "") show();
  });

  const seen = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      root.addEventListener("change", ({ target }) => target.name === "scenario" && show());
      show();
    },
    { rootMargin: NEAR },
  );
  seen.observe(root);
}
