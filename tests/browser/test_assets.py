"""Templates, scripts and texts agree with one another. These tests need no browser."""

import re
from pathlib import Path

import pytest
from django.templatetags.static import static
from django.utils.translation import override

from coordination.core.messages import Kind
from coordination.pages.module import views
from coordination.pages.texts import board as board_texts
from coordination.pages.texts import module as texts
from coordination.pages.texts import parts as part_texts
from intramedial.templatetags.assets import modules

TEXTS = set(texts.ALL).union(texts.VERIFY, board_texts.all_texts(), *part_texts.PARTS.values())
ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "static" / "js"
IMPORT = re.compile(r"""^import\s+(?:[^"']+\sfrom\s+)?["'](\.[^"']+)["']""", re.MULTILINE)
TEXT_KEY = re.compile(r"""\bt\(\s*"(\w+)\"""")
TEXT_CHOICE = re.compile(r"""\bt\([^,()`]*\?\s*"(\w+)"\s*:\s*"(\w+)\"""")
ICON = re.compile(r"""\bicon\(\s*"([\w-]+)\"""")


def imports(module: Path) -> set[Path]:
    """All modules that a module imports, and itself."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        waiting += [(file.parent / name).resolve() for name in IMPORT.findall(file.read_text())]
    return found


@pytest.mark.parametrize("script", ["home", "module", "verify", "board/main", "elements/site", "adopt"])
def test_a_page_preloads_what_its_script_imports(script: str) -> None:
    start = SCRIPTS / f"{script}.js"
    needed = [static(f"js/{file.relative_to(SCRIPTS).as_posix()}") for file in imports(start) - {start}]
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', modules(script))
    assert sorted(preloaded) == sorted(needed)


def test_scripts_of_one_page_preload_a_module_once() -> None:
    preloaded = re.findall(r'"modulepreload" href="([^"]+)"', modules("module", "home"))
    assert len(preloaded) == len(set(preloaded)) > 20


def test_every_event_and_state_of_the_board_has_a_text() -> None:
    texts = board_texts.all_texts()
    assert {f"bd_event_{kind}" for kind in Kind} <= set(texts)
    states = ("off", "connecting", "live", "old", "delayed", "reconnecting", "paused")
    assert {f"live_{state}" for state in (*states, "ended", "removed", "missing")} <= set(texts)
    causes = ("released", "expired", "withdrawn", "lapsed", "granted")
    assert {f"bd_ended_{cause}" for cause in (*causes, "forgotten")} <= set(texts)
    assert {f"bd_spark_{line.name}" for line in board_texts.SPARKLINES} <= set(texts)


def test_every_text_that_scripts_show_exists() -> None:
    shown = set()
    for file in SCRIPTS.rglob("*.js"):
        source = file.read_text()
        shown |= set(TEXT_KEY.findall(source)) | {key for pair in TEXT_CHOICE.findall(source) for key in pair}
    assert shown - TEXTS == set()


def test_every_fault_of_the_json_reader_has_a_text() -> None:
    codes = re.findall(
        r"""#fail\((?:[^"()]*\?\s*)?"(\w+)"(?:\s*:\s*"(\w+)")?""", (SCRIPTS / "lib" / "json.js").read_text()
    )
    assert codes
    assert {f"json_{code}" for pair in codes for code in pair if code} <= set(texts.ALL)


def test_every_check_of_a_receipt_has_a_text() -> None:
    checks = re.findall(r"""\bcheck\("(\w+)\"""", (SCRIPTS / "lib" / "receipt.js").read_text())
    assert set(checks) == {"key", "signature", "issuer", "request", "result"}
    assert {f"check_{check}{end}" for check in checks for end in ("", "_ok", "_bad")} <= set(texts.ALL)


def test_every_fault_of_a_given_receipt_has_a_text() -> None:
    faults = set(re.findall(r"""fault: "(\w+)\"""", (SCRIPTS / "verify.js").read_text()))
    assert len(faults) == 7
    assert {f"given_{fault}" for fault in faults} <= set(texts.VERIFY)


def test_every_icon_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'symbol id="([\w-]+)"', (ROOT / "static" / "img" / "icons.svg").read_text()))
    used = {name for file in SCRIPTS.rglob("*.js") for name in ICON.findall(file.read_text())}
    assert used <= sprite


def test_nothing_is_inline_or_from_another_host() -> None:
    for file in (ROOT / "templates").rglob("*.html"):
        source = file.read_text()
        assert not re.search(r"<[^>]+\s(style|on\w+)=", source), file
        assert not re.search(r"""(src|href)=["']https?://""", source), file


def test_samples_are_those_of_the_contract() -> None:
    with override("es"):
        operations = views.operations()
    assert {name: (found["method"], found["path"]) for name, found in operations.items()} == {
        "lease": ("POST", "/api/v1/acp/coordination/lease"),
        "release": ("POST", "/api/v1/acp/coordination/release"),
        "wait": ("GET", "/api/v1/acp/coordination/wait"),
        "withdraw": ("DELETE", "/api/v1/acp/coordination/wait"),
    }
    assert set(operations["lease"]["example"]) == {"resource", "actorDid"}
