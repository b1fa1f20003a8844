"""A real browser to open reports in."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium, installing Debian's when there is none and we may."""
    if os.environ.get("SELFDICT_NO_BROWSER") == "1":
        pytest.skip("SELFDICT_NO_BROWSER=1")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    if not any(map(shutil.which, names)) and shutil.which("apt-get") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, check=False, timeout=600)
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.fail(
            "no Chromium: install it, or set SELFDICT_NO_BROWSER=1 to leave these tests out"
        )
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
