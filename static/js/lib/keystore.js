// The visitor's keys. They never leave this browser: WebCrypto makes them, not extractable, and IndexedDB stores a
// CryptoKey without showing its bytes to a script.

import { didKey } from "./bytes.js";

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
 *   `sign` where a library signs instead of the browser: its key is only in memory. Throws Unable.
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

/**
 * Stores one record under the name `trial`. Without IndexedDB (some private windows) it lasts as long as the page.
 * Fires `change` when another page of this browser saved or removed the record.
 */
export class KeyStore extends EventTarget {
  /** Whether the record that was saved last will be there on the next visit. */
  kept = true;
  #memory = null;
  #database = null;
  #others = new BroadcastChannel("keys");

  constructor() {
    super();
    this.#others.onmessage = () => this.dispatchEvent(new Event("change"));
  }

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
      const stored = await settled((await this.#store("readonly")).get("trial"));
      return stored ?? (this.kept ? null : this.#memory);
    } catch {
      return this.#memory;
    }
  }

  async save(record) {
    this.#memory = record;
    try {
      // A function cannot be stored, so a key of the library cannot be stored either.
      await settled((await this.#store("readwrite")).put(record, "trial"));
      this.kept = true;
      this.#others.postMessage("saved");
    } catch {
      this.kept = false; // The key is in memory and is lost when the page closes.
    }
  }

  async forget() {
    this.#memory = null;
    try {
      await settled((await this.#store("readwrite")).delete("trial"));
      this.#others.postMessage("forgotten");
    } catch {
      // Nothing was kept.
    }
  }
}
