// Source of static/dist/editor.js: CodeMirror, set up as the editor of one JSON text. It is in a shadow root, where
// its styles are constructed style sheets. Elsewhere it would write a <style> element, which the content security
// policy refuses.

import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** @type {import("@codemirror/state").StateEffectType<{from: number, to: number, words: string, hint?: boolean}[]>} */
const setMarks = StateEffect.define();

const marks = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setMarks)) next = decorations(effect.value, transaction.state);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorations(found, state) {
  const { doc } = state;
  const lines = new Set();
  const ranges = [];
  for (const { from, to, words, hint } of found) {
    const start = Math.min(from, doc.length);
    const end = Math.min(Math.max(to, start), doc.length);
    const kind = hint ? "hint" : "fault";
    lines.add(doc.lineAt(start).from);
    if (end > start) ranges.push(Decoration.mark({ class: `cm-${kind}`, attributes: { title: words ?? "" } }).range(start, end));
  }
  for (const line of lines) ranges.push(Decoration.line({ class: "cm-wrong" }).range(line));
  return Decoration.set(ranges, true);
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--ink-soft)" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--ink-faint)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", fontSize: "0.875rem", minHeight: "9.5rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "visible" },
  ".cm-content": { padding: "0.75rem 0", minHeight: "8rem", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 0.75rem 0 0.5rem", wordBreak: "break-all" },
  ".cm-gutters": { background: "none", border: "0", color: "var(--ink-faint)", fontSize: "0.75rem" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.25rem", padding: "0 0.25rem 0 0", lineHeight: "1.8667" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--rule)" },
  ".cm-fault": {
    background: "var(--stop-wash)",
    textDecoration: "underline wavy var(--stop) 1.5px",
    textUnderlineOffset: "3px",
    textDecorationSkipInk: "none",
  },
  ".cm-hint": { textDecoration: "underline dotted var(--ink-soft) 2px", textUnderlineOffset: "3px" },
});

/** When text is typed over coloured text, the browser keeps the colour as an inline style, which the policy blocks. */
function overSelection(event, view) {
  if (event.inputType !== "insertText" || event.data === null || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
  return true;
}

export class Editor {
  #attributes = new Compartment();

  /**
   * @param {ShadowRoot} root where to put the editor
   * @param {{text: string, label: string, change: () => void}} options `change` is called after each change
   */
  constructor(root, { text, label, change }) {
    this.label = label;
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          bracketMatching(),
          indentUnit.of("  "),
          json(),
          syntaxHighlighting(colours),
          theme,
          marks,
          EditorView.lineWrapping,
          // Tab is not among these, so that it leaves the editor.
          keymap.of([...standardKeymap, ...historyKeymap]),
          this.#attributes.of(this.#described([])),
          EditorView.domEventHandlers({ beforeinput: overSelection }),
          EditorView.updateListener.of((update) => update.docChanged && change()),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Replaces the text; undo treats this as one step. */
  set text(text) {
    const { doc } = this.view.state;
    this.view.dispatch({
      changes: { from: 0, to: doc.length, insert: text },
      annotations: Transaction.userEvent.of("input.replace"),
    });
  }

  /** @param {{from: number, to: number, words: string, hint?: boolean}[]} found */
  setMarks(found) {
    this.view.dispatch({
      effects: [setMarks.of(found), this.#attributes.reconfigure(this.#described(found))],
    });
  }

  focusAt(from, to = from) {
    this.view.focus();
    const { length } = this.view.state.doc;
    this.view.dispatch({ selection: { anchor: Math.min(from, length), head: Math.min(to, length) } });
  }

  #described(found) {
    return EditorView.contentAttributes.of({
      "aria-label": this.label,
      "aria-multiline": "true",
      "aria-invalid": String(found.some(({ hint }) => !hint)),
      "aria-description": found.map(({ words }) => words).join(" "),
      spellcheck: "false",
      autocapitalize: "off",
    });
  }
}
