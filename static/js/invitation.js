// An invitation's token is in the fragment of its link, which no server is sent: kept while one logs in, then put
// into the form.

const KEY = "invitation";
const given = location.hash.slice(1);
if (given) {
  history.replaceState(null, "", location.pathname + location.search);
  keep(given);
}

const input = /** @type {HTMLInputElement | null} */ (document.getElementById("code"));
const code = given || kept();
if (input && code && !input.value) input.value = code;
input?.form.addEventListener("submit", () => keep(""));

function keep(code) {
  try {
    if (code) sessionStorage.setItem(KEY, code);
    else sessionStorage.removeItem(KEY);
  } catch {
    // The form takes it by hand as well.
  }
}

function kept() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}
