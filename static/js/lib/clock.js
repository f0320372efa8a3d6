// The server's time, as exactly as the page knows it. Instants come from the server and are compared with the server's
// clock, because the visitor's clock may be minutes off.

let offset = 0;
let known = false;

/** Milliseconds since the Unix epoch, by the server's clock. */
export const serverNow = () => Date.now() + offset;

/** Learns the time from an instant of the server: RFC 3339, or an HTTP date (whole seconds, so not `precise`). */
export function learn(instant, { precise = true } = {}) {
  const time = Date.parse(instant ?? "");
  if (Number.isNaN(time)) return;
  if (precise) {
    offset = time - Date.now();
    known = true;
  } else if (!known || Math.abs(time - serverNow()) > 2000) {
    offset = Math.abs(time - Date.now()) > 2000 ? time + 500 - Date.now() : 0;
  }
}
