"""Links of the files outside of the documentation, and the check of the built pages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / ".ci" / "check_links.py"
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"`((?:tests|docs(?!/_build)|benchmarks|reproduce|selfdict)/[\w/.*-]+)")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_of_the_clone(name):
    links = LINK.findall((ROOT / name).read_text(encoding="utf-8"))
    files = [link.split("#")[0] for link in links if "://" not in link]
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_files_of_the_clone_that_pages_name_exist():
    missing = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for name in NAMED.findall(page.read_text(encoding="utf-8")):
            if not any(ROOT.glob(name)) and not any(ROOT.glob(f"src/{name}")):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def check(folder):
    return subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)


def test_the_check_follows_links_to_files_and_elements(tmp_path):
    page = tmp_path / "other" / "page.html"
    page.parent.mkdir()
    page.write_text('<h1 id="head">x</h1><a href="../index.html">x</a>')
    index = tmp_path / "index.html"
    index.write_text('<a href="other/page.html#head">x</a> <a href="https://example.org/no">x</a>')
    result = check(tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "2 links inside are right, 1 to other sites are not checked\n"


@pytest.mark.parametrize(
    "link", ["other.html", "#tail", "folder", "../index.html", "_static/image.png"]
)
def test_the_check_names_links_that_lead_nowhere(tmp_path, link):
    (tmp_path / "index.html").write_text(f'<h1 id="head">x</h1><img src="{link}">')
    result = check(tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[1:] == [f"index.html: {link}"]


def test_a_folder_without_pages_is_an_error(tmp_path):
    assert check(tmp_path).returncode == 1
