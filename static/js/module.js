// The module page's text: contents that say where one is, the drawing that tells its story once, the page as
// Markdown. Lanzar is not needed for any of it.

import "./elements/copy-page.js";
import { contents } from "./module/contents.js";
import { drawing } from "./module/drawing.js";

contents(document.querySelector('[data-part="contents"]'));
drawing(document.querySelector('[data-part="drawing"]'));
