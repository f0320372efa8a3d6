// A JSON reader that returns places: the value, the place of every member by JSON pointer, and the first fault with its
// place. The browser's own parser gives no places, and its errors are in one language.

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** @type {[string, boolean | null][]} */
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** A fault: `code` names its text, `from`–`to` is its place in the JSON. */
class Fault extends Error {
  constructor(code, from, to) {
    super(code);
    this.code = code;
    this.from = from;
    this.to = to;
  }
}

/**
 * @param {string} text
 * @returns {{value?: any, places: Map<string, {from: number, to: number}>, fault?: {code, from, to}}}
 */
export function read(text) {
  const reader = new Reader(text);
  try {
    const value = reader.document();
    return { value, places: reader.places };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return { places: reader.places, fault };
  }
}

/** Line and column, from 1. */
export function position(text, offset) {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
}

/** JSON for people: a value that fits into `width` characters is on one line. */
export function pretty(value, width = 56, indent = "") {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const array = Array.isArray(value);
  const inner = `${indent}  `;
  const members = array
    ? value.map((item) => pretty(item, width, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pretty(item, width, inner)}`);
  if (!members.length) return array ? "[]" : "{}";
  const line = array ? `[${members.join(", ")}]` : `{ ${members.join(", ")} }`;
  const nested = array ? members.length > 1 && typeof value[0] === "object" : indent === "";
  if (!nested && line.length + indent.length <= width && !line.includes("\n")) return line;
  const [open, close] = array ? "[]" : "{}";
  return `${open}\n${members.map((member) => inner + member).join(",\n")}\n${indent}${close}`;
}

class Reader {
  places = new Map();
  #at = 0;
  #depth = 0;

  constructor(text) {
    this.text = text;
  }

  document() {
    const value = this.#value("");
    this.#space();
    if (this.#at < this.text.length) this.#fail("after_end", this.#at, this.text.length);
    return value;
  }

  /** @returns {never} */
  #fail(code, from = this.#at, to = from + 1) {
    throw new Fault(code, Math.min(from, Math.max(0, this.text.length - 1)), Math.min(to, this.text.length));
  }

  #space() {
    while (" \t\n\r".includes(this.text[this.#at] ?? "x")) this.#at += 1;
  }

  #value(pointer) {
    this.#space();
    const from = this.#at;
    const value = this.#bare(pointer);
    this.places.set(pointer, { from, to: this.#at });
    return value;
  }

  #bare(pointer) {
    const char = this.text[this.#at];
    if (char === undefined) this.#fail("cut_short");
    if (char === "{") return this.#nested(() => this.#object(pointer));
    if (char === "[") return this.#nested(() => this.#array(pointer));
    if (char === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.text);
    if (!found) {
      const word = /[^\s,:{}[\]]*/y;
      word.lastIndex = this.#at;
      const length = word.exec(this.text)[0].length;
      this.#fail(char === "'" ? "single_quotes" : "no_value", this.#at, this.#at + Math.max(1, length));
    }
    this.#at = NUMBER.lastIndex;
    return Number(found[0]);
  }

  #nested(inside) {
    this.#depth += 1;
    if (this.#depth > 64) this.#fail("too_deep");
    const value = inside();
    this.#depth -= 1;
    return value;
  }

  #object(pointer) {
    const object = {};
    this.#at += 1;
    this.#space();
    if (this.#take("}")) return object;
    for (;;) {
      this.#space();
      const from = this.#at;
      if (this.text[from] === "}") this.#fail("trailing_comma");
      if (this.text[from] !== '"') this.#fail(from < this.text.length ? "no_name" : "cut_short");
      const name = this.#string();
      if (Object.hasOwn(object, name)) this.#fail("duplicate", from, this.#at);
      this.#space();
      if (!this.#take(":")) this.#fail("no_colon", from, this.#at);
      const value = this.#value(`${pointer}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`);
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
      if (this.#ends("}")) return object;
    }
  }

  #array(pointer) {
    const array = [];
    this.#at += 1;
    this.#space();
    if (this.#take("]")) return array;
    for (;;) {
      array.push(this.#value(`${pointer}/${array.length}`));
      if (this.#ends("]")) return array;
      this.#space();
      if (this.text[this.#at] === "]") this.#fail("trailing_comma");
    }
  }

  #take(char) {
    if (this.text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #ends(close) {
    const end = this.#at;
    this.#space();
    if (this.#take(close)) return true;
    if (this.#take(",")) return false;
    if (this.#at >= this.text.length) this.#fail("cut_short");
    return this.#fail("no_comma", Math.max(0, end - 1), end);
  }

  #string() {
    const from = this.#at;
    let text = "";
    for (this.#at += 1; ;) {
      const char = this.text[this.#at];
      if (char === undefined || char === "\n") this.#fail("open_string", from, this.#at);
      this.#at += 1;
      if (char === '"') return text;
      if (char < " ") this.#fail("control", this.#at - 1);
      text += char === "\\" ? this.#escape() : char;
    }
  }

  #escape() {
    const from = this.#at - 1;
    const char = this.text[this.#at];
    this.#at += 1;
    if (char in ESCAPES) return ESCAPES[char];
    const hex = this.text.slice(this.#at, this.#at + 4);
    if (char !== "u" || !/^[0-9a-fA-F]{4}$/.test(hex)) this.#fail("bad_escape", from, this.#at);
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }
}
