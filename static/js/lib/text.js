// The page's texts. They come from the server in the page's language, as JSON in an inert script element, so that
// templates and scripts share one catalogue.

const island = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "{}");
const texts = island("texts");
export const data = island;
export const language = document.documentElement.lang || "es";
const plural = new Intl.PluralRules(language);

/** The text `key`, `{name}` replaced by `values.name`. A text with plural forms is chosen by `values.n`. */
export function t(key, values = {}) {
  let text = texts[key] ?? key;
  if (typeof text === "object") text = text[plural.select(values.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Adds the texts of a part of the page that was just fetched. */
export const learnTexts = (more) => Object.assign(texts, more);

/** A text as it came: a part may also have lists and objects among its texts. */
export const raw = (key) => texts[key];

export const has = (key) => key in texts;

const numbers = new Map();

export function number(value, digits = 0) {
  if (!numbers.has(digits)) {
    numbers.set(
      digits,
      new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
    );
  }
  return numbers.get(digits).format(value);
}

/** Milliseconds as people read them: 0,4 ms · 12 ms · 1,2 s. */
export function duration(ms) {
  if (ms < 10) return `${number(ms, 1)} ms`;
  if (ms < 1000) return `${number(Math.round(ms))} ms`;
  if (ms < 60_000) return `${number(ms / 1000, 1)} s`;
  if (ms < 3_600_000) return `${number(Math.floor(ms / 60_000))} min`;
  if (ms < 86_400_000) return `${number(Math.floor(ms / 3_600_000))} h`;
  return `${number(Math.floor(ms / 86_400_000))} d`;
}

/** Whole seconds; from a minute on as `duration` writes them. */
export const seconds = (ms) =>
  ms < 60_000 ? `${number(Math.max(0, Math.floor(ms / 1000)))} s` : duration(ms);

/** Shortened in the middle, head and tail kept; a short text stays whole. */
export function shorten(text, head = 12, tail = 5) {
  return text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
}

/** A DID in at most `letters` letters, without its `did:key:` or `did:web:`. Its end is kept: DIDs differ there. */
export function shortDid(did, letters = 25) {
  const tail = Math.floor(letters * 0.4);
  return shorten(did.replace(/^did:(key|web):/, ""), letters - tail - 1, tail);
}

// 24 hours in every language, as in logs, because columns are narrow.
const clockFormat = new Intl.DateTimeFormat(language, {
  hourCycle: "h23",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const instantFormat = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

export const clockTime = (instant) => clockFormat.format(new Date(instant));
export const instant = (value) => instantFormat.format(new Date(value));
