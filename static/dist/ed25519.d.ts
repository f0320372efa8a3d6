export * from "../js/bundled/ed25519.js";
