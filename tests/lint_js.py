"""Style and types of the browser code: `python -m tests.lint_js` (`make lint-js`).

biome lints, and TypeScript checks the types in JSDoc comments; neither writes a file. Both come from
`package-lock.json`, so Node and npm must be installed, and a network the first time. With `--if-possible`,
for `make check`, missing tools are reported and the code is left unchecked.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
LOCK, INSTALLED = ROOT / "package-lock.json", MODULES / "installed.json"
# No script of a package runs. Not `npm ci`: it fails where a registry lacks another platform's package.
INSTALL = (
    "npm",
    "install",
    "--no-save",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--silent",
    "--fetch-retries=1",
)
CHECKS = (("biome", "lint", "--error-on-warnings"), ("tsc", "--project", "jsconfig.json"))


class NotPossible(Exception):
    """The tools are not installed and cannot be installed; the message says why."""


def install() -> None:
    """Install the packages of the lock file, unless they are installed. Raises NotPossible."""
    if INSTALLED.exists() and INSTALLED.read_bytes() == LOCK.read_bytes():
        return
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise NotPossible("Node and npm are not installed (apt-get install nodejs npm)")
    print("Installing what package-lock.json names …", file=sys.stderr)
    if subprocess.run(INSTALL, cwd=ROOT).returncode != 0:
        raise NotPossible("npm could not install what package-lock.json names")
    shutil.copy(LOCK, INSTALLED)


def main() -> int:
    """Run both tools; returns 0 when neither finds anything."""
    try:
        install()
    except NotPossible as fault:
        print(f"The browser code is not checked: {fault}.", file=sys.stderr)
        return 0 if "--if-possible" in sys.argv else 1
    failed = [tool for tool, *rest in CHECKS if subprocess.run(["npx", tool, *rest], cwd=ROOT).returncode]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
