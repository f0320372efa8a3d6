// What the board asks of the server besides its socket. That the session is over, or that the workspace is not
// the asker's any more, is told to the whole board, which says so wherever somebody may look.

/** @type {RequestInit} */
const HOW = { redirect: "manual", cache: "no-store" };

/**
 * `ask(path, query)`: the answer, which is a success. Throws if there is none.
 * @param {import("../lib/live.js").Live} live @param {string} members an address at which every member is answered
 */
export const asking = (live, members) => async (path, query) => {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`, HOW);
  // The server sends nobody anywhere but to the log-in.
  if (answer.type === "opaqueredirect") live.over("ended");
  else if (answer.status === 404 && (await fetch(members, HOW)).status === 404) live.over("missing");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer;
};
