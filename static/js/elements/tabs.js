// <tab-panels>: tabs as in the ARIA Authoring Practices. The tabs are in the page's HTML, [role=tab] with
// aria-controls; arrows, Home and End move between them. Fires `choose` (detail: the tab's id).

class TabPanels extends HTMLElement {
  connectedCallback() {
    const tabs = this.querySelectorAll(':scope > [role="tablist"] > [role="tab"]');
    this.tabs = [.../** @type {NodeListOf<HTMLElement>} */ (tabs)];
    for (const tab of this.tabs) tab.addEventListener("click", () => this.choose(tab));
    const list = /** @type {HTMLElement} */ (this.querySelector('[role="tablist"]'));
    list.addEventListener("keydown", (event) => {
      const at = this.tabs.indexOf(/** @type {HTMLElement} */ (event.target));
      const { length } = this.tabs;
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + length, Home: 0, End: length - 1 }[event.key];
      if (at < 0 || to === undefined) return;
      event.preventDefault();
      this.choose(this.tabs[to % length]);
      this.tabs[to % length].focus();
    });
  }

  get chosen() {
    return this.tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
  }

  choose(chosen) {
    const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
    for (const tab of this.tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      panelOf(tab).hidden = panelOf(tab) !== panelOf(chosen);
    }
    panelOf(chosen).setAttribute("aria-labelledby", chosen.id);
    this.dispatchEvent(new CustomEvent("choose", { detail: chosen.id }));
  }
}

customElements.define("tab-panels", TabPanels);
