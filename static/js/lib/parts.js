// Parts of the page that are fetched when they are first used. The caller imports the module; `furnish` fetches its
// texts and styles.

import { data, learnTexts } from "./text.js";

/** By name: {texts?: address, styles?: address}. */
const parts = data("parts");
const fetched = new Map();

/** Fetches the texts and styles of a part; resolves when they are there. After a failure it can be called again. */
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
