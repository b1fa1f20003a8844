"""The pages with complete examples: their code runs as it stands."""

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import selfdict

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / "getting-started.md",
    DOCS / "answer.md",
    DOCS / "solvers.md",
    DOCS / "smooth.md",
    DOCS / "neighbours.md",
    *sorted(DOCS.glob("extending/add-*.md")),
]
# What a page needs beside selfdict[all]; without it the page is skipped.
NEEDED = {"neighbours": ("hyperspy", "ramanspy", "pymcr", "torch", "spectral", "pandas")}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The word after the fence, such as python or {toctree}, and what is inside.
FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The package and the names, on one line or in brackets.
IMPORT = re.compile(r"from (selfdict[\w.]*) import \(?((?<=\()[^)]*|[^\n`]*)")
FILE_NAME = re.compile(r"# (\w+\.py)\n")  # the first line of a block that is to be saved


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path):
    """In a process of its own: pages register solvers and formats."""
    for package in NEEDED.get(page.stem, ()):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    code = ""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        name = FILE_NAME.match(block)
        if name:
            (tmp_path / name[1]).write_text(block, encoding="utf-8")
        else:
            code += block
    assert code
    deprecated = "error::DeprecationWarning:__main__"
    result = subprocess.run(
        [sys.executable, "-W", deprecated, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr


def test_the_reference_lists_every_public_name():
    words = (DOCS / "api.md").read_text(encoding="utf-8").split()
    listed = {word.removeprefix("scene.") for word in words}
    assert set(selfdict.__all__) - {"__version__"} <= listed


def test_every_import_that_is_shown_works():
    """In all pages and examples; those of docstrings run as doctests."""
    missing = []
    for text in [DOCS.parent / "README.md", *DOCS.glob("**/*.md"), *DOCS.glob("**/*.py")]:
        for module, names in IMPORT.findall(text.read_text(encoding="utf-8")):
            for name in re.findall(r"\w+(?: as \w+)?", names.partition("#")[0]):
                imported = name.partition(" as ")[0]
                parent = importlib.import_module(module)
                if not hasattr(parent, imported) and not find_spec(f"{module}.{imported}"):
                    missing.append(f"{text.name}: from {module} import {imported}")
    assert not missing


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: page.stem)
def test_code_fits_into_a_window_of_1300_pixels(page):
    """There a line has room for 100 characters, see docs/_static/pages.css."""
    for language, block in FENCED.findall(page.read_text(encoding="utf-8")):
        if not language.startswith("{"):
            assert max(map(len, block.splitlines())) <= 100


@pytest.mark.parametrize("example", sorted(DOCS.glob("examples/*.py")), ids=lambda path: path.stem)
def test_the_text_of_an_example_starts_below_its_mark(example):
    """What stands in the line of the mark is left out of the page."""
    marks = [line for line in example.read_text(encoding="utf-8").splitlines() if "# %%" in line]
    assert set(marks) <= {"# %%"}


def test_the_gallery_has_a_place_for_every_example():
    order = (DOCS / "_extensions" / "gallery_order.py").read_text(encoding="utf-8")
    listed = re.findall(r'"(plot_\w+\.py)"', order)
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("examples/plot_*.py"))
