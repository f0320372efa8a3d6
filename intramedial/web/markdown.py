"""Converts the HTML of a page to Markdown, so that both always have the same text.

It knows only the elements that this project's templates use. It leaves out drawings, buttons and hidden
elements (`aria-hidden`, `.needs-js`, `.anchor`, `.visually-hidden`).
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin

LEFT_OUT = {"svg", "button", "nav", "script", "style", "copy-button"}
LEFT_OUT_CLASSES = {"needs-js", "anchor", "visually-hidden"}
VOID = {"br", "wbr", "hr", "img", "input", "link", "meta"}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
BLOCKS = {"p", "dt", "dd", "figcaption", "caption", *HEADINGS}
SPACES = re.compile(r"\s+")


def to_markdown(html: str, base_url: str) -> str:
    """The text of `html` as Markdown. Links become absolute, except links to anchors of the page itself."""
    reader = _Reader(base_url)
    reader.feed(html)
    reader.close()
    text = "\n\n".join(block for block in reader.finished() if block.strip())
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


class _Reader(HTMLParser):
    def __init__(self, base_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base_url = base_url
        self.blocks: list[str] = []
        self.text = ""
        self.hidden: list[str] = []
        self.verbatim = False
        self.lists: list[str] = []
        self.rows: list[list[str]] = []
        self.quoted = False
        self.hrefs: list[str] = []

    def finished(self) -> Iterator[str]:
        """The blocks, in order."""
        self._end_block()
        # No empty line between the items of a list.
        run: list[str] = []
        for block in self.blocks:
            if block.startswith(("- ", "1. ", "  ")):
                run.append(block)
                continue
            if run:
                yield "\n".join(run)
                run = []
            yield block
        if run:
            yield "\n".join(run)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if self.hidden or self._is_left_out(tag, given):
            if tag not in VOID:
                self.hidden.append(tag)
            return
        if tag in BLOCKS or tag in ("ul", "ol", "table", "pre", "blockquote", "li"):
            self._end_block()
        if tag in HEADINGS:
            self.text = f"{HEADINGS[tag]} "
        elif tag in ("ul", "ol"):
            # Lists of steps have headings, so they get no marks; lists that are drawn without marks get
            # dashes.
            plain = tag == "ul" or given.get("role") == "list"
            self.lists.append("" if "steps" in given.get("class", "") else "- " if plain else "1. ")
        elif tag == "sup":
            self.text += "^"
        elif tag == "dt":
            self.text = "- **"
        elif tag == "pre":
            self.verbatim = True
        elif tag == "code" and not self.verbatim:
            self.text += "`"
        elif tag in ("strong", "b") and not self.verbatim:
            self.text += "**" if not self._inside_code() else ""
        elif tag == "table":
            self.rows = []
        elif tag == "tr":
            self.rows.append([])
        elif tag == "blockquote":
            self.quoted = True
        elif tag == "a":
            self.hrefs.append(given.get("href", ""))
            self.text += "["

    def handle_endtag(self, tag: str) -> None:
        if self.hidden:
            if tag == self.hidden[-1]:
                self.hidden.pop()
            return
        if tag == "a":
            self.text += f"]({self._address(self.hrefs.pop())})"
        elif tag == "code" and not self.verbatim:
            self.text += "`"
        elif tag in ("strong", "b") and not self.verbatim:
            self.text += "**" if not self._inside_code() else ""
        elif tag == "pre":
            self.blocks.append("```\n" + self.text.strip("\n") + "\n```")
            self.text, self.verbatim = "", False
        elif tag in ("td", "th"):
            self.rows[-1].append(self._taken().replace("|", "\\|"))
        elif tag == "table":
            self.blocks.append(_table(self.rows))
            self.rows = []
        elif tag == "dt":
            self.text = f"{self.text.rstrip()}**: "
        elif tag == "blockquote":
            self._end_block()
            self.quoted = False
        elif tag in ("ul", "ol"):
            self._end_block()
            self.lists.pop()
        elif tag in BLOCKS or tag == "li":
            self._end_block()

    def handle_data(self, data: str) -> None:
        if self.hidden:
            return
        if self.verbatim:
            self.text += data
            return
        text = SPACES.sub(" ", data)
        self.text += text.lstrip() if not self.text or self.text.endswith(" ") else text

    def _is_left_out(self, tag: str, given: dict[str, str]) -> bool:
        classes = set(given.get("class", "").split())
        return tag in LEFT_OUT or bool(classes & LEFT_OUT_CLASSES) or given.get("aria-hidden") == "true"

    def _inside_code(self) -> bool:
        return self.text.count("`") % 2 == 1

    def _taken(self) -> str:
        text, self.text = self.text.strip(), ""
        return text

    def _end_block(self) -> None:
        if self.rows and self.rows[-1] is not None and self.text and not self.verbatim:
            return  # a cell's text ends with its cell
        text = self._taken()
        if not text:
            return
        if self.quoted:
            text = f"> {text}"
        elif self.lists and not text.startswith("#"):
            text = self.lists[-1] + text
        self.blocks.append(text)

    def _address(self, href: str) -> str:
        return href if href.startswith("#") else urljoin(self.base_url + "/", href)


def _table(rows: list[list[str]]) -> str:
    head, *body = [row for row in rows if row]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)])
