// The visitor's keys, in this browser and nowhere else: made by WebCrypto, not extractable, kept in IndexedDB
// (which stores a CryptoKey without ever showing its bytes to a script).

import { didKey } from "./did.js";

const DATABASE = "intramedial";
const STORE = "keys";

/** Why a browser cannot make or keep a key: `insecure`, `no_ed25519`. */
export class Unable extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * @returns {Promise<{did: string, privateKey?: CryptoKey, sign?: (bytes: Uint8Array) => Promise<Uint8Array>}>}
 *   `sign` where a library signs instead of the browser: its key is in memory and nowhere else
 */
export async function makeKey() {
  if (!globalThis.crypto?.subtle) throw new Unable("insecure");
  let pair;
  try {
    pair = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  } catch {
    return makeKeyWithLibrary();
  }
  const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { did: didKey(publicKey), privateKey: pair.privateKey };
}

async function makeKeyWithLibrary() {
  let key;
  try {
    const library = await import("../../dist/ed25519.js");
    key = await library.makeKey();
  } catch {
    throw new Unable("no_ed25519");
  }
  return { did: didKey(key.publicKey), sign: key.sign };
}

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** One record under the name `trial`. Where IndexedDB is shut (some private windows) it lives as long as the page. */
export class KeyStore {
  /** Whether what was saved last will be there on the next visit. */
  kept = true;
  #memory = null;
  #database = null;

  async #store(mode) {
    if (!this.#database) {
      const opening = indexedDB.open(DATABASE, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
      this.#database = await settled(opening);
    }
    return this.#database.transaction(STORE, mode).objectStore(STORE);
  }

  async load() {
    try {
      return (await settled((await this.#store("readonly")).get("trial"))) ?? this.#memory;
    } catch {
      return this.#memory;
    }
  }

  async save(record) {
    this.#memory = record;
    try {
      // A function cannot be stored, and so neither can a key that a library signs with.
      await settled((await this.#store("readwrite")).put(record, "trial"));
      this.kept = true;
    } catch {
      this.kept = false; // In memory; nothing else is lost than the key at the end of the visit.
    }
  }

  async forget() {
    this.#memory = null;
    try {
      await settled((await this.#store("readwrite")).delete("trial"));
    } catch {
      // Nothing was kept.
    }
  }
}
