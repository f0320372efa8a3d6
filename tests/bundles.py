"""Bundles the pages' third-party JavaScript: `python -m tests.bundles` (`make bundles`).

Needs Node and npm. The results are committed in `static/dist`, so that serving needs neither.
`sources.json` there has the digests of each bundle's sources, and a test compares them with the files.
"""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES, DIST = ROOT / "static" / "js" / "bundled", ROOT / "static" / "dist"
RECORD = DIST / "sources.json"
LICENSES = DIST / "LICENSES.txt"
LOCK = ("package.json", "package-lock.json")


def digests() -> dict[str, str]:
    """SHA-256 of the sources, of the lock file and of the bundles, by path."""
    files = [*(ROOT / name for name in LOCK), *sorted(SOURCES.glob("*.js")), *sorted(DIST.glob("*.js"))]
    return {
        file.relative_to(ROOT).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def main() -> None:
    """Install what the lock file names, bundle, and record the digests."""
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=ROOT, check=True)
    sources = [str(file) for file in sorted(SOURCES.glob("*.js"))]
    options = [
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2022",
        "--charset=utf8",
        f"--outdir={DIST}",
    ]
    subprocess.run(
        ["npx", "esbuild", *sources, *options, "--legal-comments=eof", "--log-level=warning"],
        cwd=ROOT,
        check=True,
    )
    LICENSES.write_text("\n\n".join(_licenses()) + "\n")
    RECORD.write_text(json.dumps(digests(), indent=1) + "\n")


def _licenses() -> Iterator[str]:
    """The license of every bundled package, under its name and version."""
    for path, package in json.loads((ROOT / "package-lock.json").read_text())["packages"].items():
        if path and not package.get("dev"):
            name = path.removeprefix("node_modules/")
            text = next((ROOT / path).glob("LICENSE*")).read_text("utf-8").strip()
            yield f"{name} {package['version']}\n\n{text}"


if __name__ == "__main__":
    main()
