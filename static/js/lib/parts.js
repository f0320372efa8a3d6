// Parts of the page that are fetched when they are first used: a module, which the caller imports, its words and
// its styles, which come from here.

import { data, learnTexts } from "./text.js";

/** By name: {texts?: address, styles?: address}. */
const parts = data("parts");
const fetched = new Map();

/** Fetches what the part needs to be shown; settles when it is there. A failure can be tried again. */
export function furnish(name) {
  if (!fetched.has(name)) {
    const { texts, styles } = parts[name];
    const furnished = Promise.all([texts && words(texts), styles && sheet(styles)]);
    furnished.catch(() => fetched.delete(name));
    fetched.set(name, furnished);
  }
  return fetched.get(name);
}

async function words(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  learnTexts(await answer.json());
}

const sheet = (address) =>
  new Promise((resolve, reject) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: address, onload: resolve, onerror: reject });
    document.head.append(link);
  });
