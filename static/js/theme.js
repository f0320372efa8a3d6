// Runs before the first paint, and is therefore no module: takes up the theme the visitor chose here, and says
// that scripts run.
(() => {
  const root = document.documentElement;
  root.dataset.js = "";
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    // No storage, no choice: the system's theme it is.
  }
})();
