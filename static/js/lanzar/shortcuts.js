// Single-key shortcuts. They do nothing while the visitor writes, or when the visitor has turned them off.

const KEY = "shortcuts";

/** In the order of the list: the action's id, its keys, and how the keys are shown. */
export const SHORTCUTS = [
  { id: "operation", keys: ["1", "2", "3", "4"], shown: "1 – 4" },
  { id: "editor", keys: ["e"], shown: "E" },
  { id: "answer", keys: ["r"], shown: "R" },
  { id: "history", keys: ["h"], shown: "H" },
  { id: "help", keys: ["?"], shown: "?" },
];

export const singleKeys = {
  get on() {
    try {
      return localStorage.getItem(KEY) !== "off";
    } catch {
      return true;
    }
  },
  set on(on) {
    try {
      if (on) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, "off");
    } catch {
      // Without storage, the setting does not change.
    }
  },
};

/** @param {Record<string, (key: string) => void>} actions by the shortcut's id */
export function onShortcut(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = /** @type {Element} */ (event.composedPath()[0]);
    if (target.closest?.("input:not([type=radio], [type=checkbox]), textarea, select, dialog, [contenteditable=true]")) return;
    const shortcut = SHORTCUTS.find(({ keys }) => keys.includes(event.key.toLowerCase()));
    if (!shortcut || !singleKeys.on) return;
    event.preventDefault();
    actions[shortcut.id](event.key);
  });
}
