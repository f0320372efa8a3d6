// The secret of an invitation is in the fragment of its link, which browsers do not send. It is kept during log-in and
// then put into the form.

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
    // Without storage, the person can type it into the form.
  }
}

function kept() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}
