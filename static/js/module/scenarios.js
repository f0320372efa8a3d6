// The scenarios' place on the page: what plays them is fetched when they come near the window.

import { part } from "../lib/dom.js";
import { furnish } from "../lib/parts.js";
import { data } from "../lib/text.js";

const NEAR = "300px";

/** @param {() => Promise<{trial, live, signers, baseUrl}>} page what the stories are played with */
export function scenarios(root, page) {
  const stage = part(root, "story");
  const programs = Object.fromEntries(data("scenarios").map(({ id, exports }) => [id, exports]));
  const chosen = () => root.querySelector('input[name="scenario"]:checked').value;

  async function show() {
    const needed = [import("../scenarios/scenarios.js"), page(), furnish("scenarios")];
    const [{ show }, played] = await Promise.all(needed);
    show(stage, chosen(), played, programs);
    root.dataset.ready = "";
  }

  // The text's situations lead here.
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
