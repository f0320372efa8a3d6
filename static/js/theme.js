// Applies the theme that the visitor chose in this browser, and marks that scripts run. It runs before the first paint,
// so it is not a module.
(() => {
  const root = document.documentElement;
  root.dataset.js = "";
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch {
    // Without storage, the page has the system's theme.
  }
})();
