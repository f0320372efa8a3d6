// The server's time, as well as this page knows it. Deadlines come from the server and are compared with its
// clock, never with the visitor's, which may be minutes off.

let offset = 0;
let known = false;

/** Milliseconds since the Unix epoch, by the server's clock. */
export const serverNow = () => Date.now() + offset;

/** Takes up an instant the server just told: RFC 3339, or an HTTP date (whole seconds, so only as a first guess). */
export function learn(instant, { precise = true } = {}) {
  const told = Date.parse(instant ?? "");
  if (Number.isNaN(told)) return;
  if (precise) {
    offset = told - Date.now();
    known = true;
  } else if (!known || Math.abs(told - serverNow()) > 2000) {
    offset = Math.abs(told - Date.now()) > 2000 ? told + 500 - Date.now() : 0;
  }
}
