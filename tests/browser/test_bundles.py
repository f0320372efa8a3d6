"""The bundles match their sources and the lock file. These tests need neither a browser nor Node."""

import json
import re

from tests import bundles


def test_the_bundles_match_their_sources() -> None:
    assert json.loads(bundles.RECORD.read_text()) == bundles.digests(), "make bundles"


def test_the_lock_file_pins_every_package_and_names_no_host() -> None:
    text = (bundles.ROOT / "package-lock.json").read_text()
    packages = {path: package for path, package in json.loads(text)["packages"].items() if path}
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert "resolved" not in text
    assert not re.search(r"https?://(?!opencollective|github|paulmillr)", text)


def test_bundled_packages_have_their_licenses() -> None:
    text = bundles.LICENSES.read_text()
    for path, package in json.loads((bundles.ROOT / "package-lock.json").read_text())["packages"].items():
        if path and not package.get("dev"):
            assert f"{path.removeprefix('node_modules/')} {package['version']}\n" in text
