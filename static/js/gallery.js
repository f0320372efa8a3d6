// The gallery: the components that scripts draw, in all their states, with samples instead of a server's answers.

import "./elements/json-editor.js";
import { AnswerView } from "./lanzar/answer.js";
import { KeyStrip } from "./lanzar/key-strip.js";
import { base64url, utf8 } from "./lib/bytes.js";
import { h, part } from "./lib/dom.js";
import { data } from "./lib/text.js";
import { Board } from "./parts/board.js";
import { receiptView } from "./parts/receipt-view.js";

const states = data("states");
const HOUR = 3_600_000;
const soon = (ms) => new Date(Date.now() + ms).toISOString();
const did = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";

function answers(root, show) {
  const answer = h("div", { class: "answer" }, h("div", { "data-part": "answer-body" }));
  root.append(answer);
  show(new AnswerView(answer, h("div"), {}));
}

function keys(root) {
  const identities = [{ did }];
  const figures = { identities, callsLeft: 31, callsLimit: 35, expiresAt: soon(150 * HOUR), keeping: "stored" };
  const trials = [
    { state: "none", identities: [], keeping: "stored" },
    { state: "creating", identities: [], keeping: "stored" },
    { state: "active", ...figures },
    { state: "active", ...figures, keeping: "memory" },
    { state: "active", ...figures, keeping: "library" },
    { state: "exhausted", ...figures, callsLeft: 0 },
    { state: "expired", ...figures },
    { state: "unable", identities: [], keeping: "stored", problem: "no_ed25519" },
  ];
  for (const trial of trials) {
    const strip = h(
      "div",
      { class: "key-strip" },
      h("p", { "data-part": "key-words" }),
      h("details", { class: "key-about", "data-part": "about-key" }, h("summary", {}, "¿Exportarla?"), h("p")),
      h("button", { type: "button", class: "link-button", "data-part": "forget" }, "Olvidar la clave"),
    );
    root.append(strip);
    new KeyStrip(strip, { ...trial, addEventListener() {} }, () => {});
  }
}

/** A board's picture with its instants moved to now. */
function fresh(picture) {
  const text = JSON.stringify(picture, (name, value) => {
    if (name === "acquiredAt" || name === "since") return soon(-8000);
    return name === "expiresAt" || name === "offeredUntil" ? soon(22_000) : value;
  });
  return JSON.parse(text);
}

function boards(root) {
  const { resource, did: who } = states.long;
  const lease = { resource, holder: who, mode: "shared", fencingToken: 2 ** 53 - 1 };
  const long = {
    holders: [{ ...lease, acquiredAt: soon(-8000), expiresAt: soon(22_000) }],
    queue: [{ resource, actorDid: who, mode: "exclusive", since: soon(-8000) }],
    deadlocks: [],
  };
  const empty = { holders: [], queue: [], deadlocks: [] };
  const kinds = ["granted", "renewed", "released", "expired", "queued", "withdrawn", "lapsed", "offered", "deadlock"];
  for (const [state, picture] of [
    ["live", empty],
    ...states.boards.map((board) => ["live", fresh(board)]),
    ["reconnecting", long],
  ]) {
    const board = h(
      "section",
      { class: "board" },
      h("span", { class: "chip", "data-part": "connection" }),
      h("p", { class: "visually-hidden", role: "status", "data-part": "announcer" }),
      h("div", { "data-part": "board-body" }),
    );
    root.append(board);
    const live = Object.assign(new EventTarget(), { state, receivedAt: Date.now() - (state === "live" ? 0 : 8000) });
    const view = new Board(board, live, () => "");
    const events = state === "live" ? [] : kinds.map((event) => ({ event, at: soon(0), resource, actorDid: who }));
    view.show(picture, events);
    live.dispatchEvent(new Event("state"));
  }
}

function receipts(root) {
  const encoded = (value) => base64url(utf8(JSON.stringify(value)));
  const { claims } = states;
  const jws = [encoded({ alg: "EdDSA", typ: "intramedial-receipt+jwt", kid: "…" }), encoded(claims), "AAAA"].join(".");
  const expected = { issuer: claims.iss };
  for (const ok of [true, false]) {
    const values = { kid: "…", url: `${claims.iss}/.well-known/jwks.json`, found: claims.iss, expected: claims.iss };
    const checks = ["key", "signature", "issuer", "request", "result"].map((id) => ({
      id,
      ok: ok || id !== "signature",
      values,
    }));
    const receipt = { id: claims.jti, kid: "…", jws };
    root.append(h("section", { class: "receipt" }, receiptView(receipt, expected, { ok, claims, checks })));
  }
}

for (const specimen of document.querySelectorAll(".specimen")) {
  const editor = part(specimen, "editor");
  const at = editor.value.indexOf(' "did:web');
  editor.setMarks([{ from: at, to: at + 4 }]);
  keys(part(specimen, "keys"));
  boards(part(specimen, "boards"));
  receipts(part(specimen, "receipts"));
  const context = { operation: "withdraw", expected: {}, names: (name) => name };
  const times = { sign: 0.4, network: 12.4 };
  for (const body of states.answers)
    answers(part(specimen, "answers"), (view) => view.show({ status: body.ok ? 200 : 409, body, times }, context));
  for (const reason of states.problems)
    answers(part(specimen, "problems"), (view) => view.problem(reason));
}
document.documentElement.dataset.ready = "";
