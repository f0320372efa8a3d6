export * from "../js/bundled/editor.js";
