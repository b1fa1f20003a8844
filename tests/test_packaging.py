"""Versions and requirements agree wherever they are written down."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import selfdict

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def requirements():
    lines = list(PROJECT["dependencies"])
    for extra in PROJECT["optional-dependencies"].values():
        lines.extend(extra)
    found = [Requirement(line) for line in lines]
    return [requirement for requirement in found if requirement.name != "selfdict"]


def pins(name):
    """Return the requirements of a file by package: several if they depend on the Python."""
    found = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    plugin = (ROOT / "qgis" / "selfdict_qgis" / "metadata.txt").read_text(encoding="utf-8")
    assert PROJECT["version"] == selfdict.__version__
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == selfdict.__version__
    assert re.search(r"^version=(.*)$", plugin, re.MULTILINE)[1] == selfdict.__version__


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_the_constraints_hold_every_requirement(requirement):
    found = pins("constraints.txt")[canonicalize_name(requirement.name)]
    for pin in found:
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert requirement.specifier.contains(exact.version)


CONDA_NAMES = {"matplotlib": "matplotlib-base", "dask": "dask-core"}


def test_the_conda_recipe_needs_what_the_command_needs():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *extras["io"], *extras["report"], *extras["cli"]]
    expected = {"python": PROJECT["requires-python"]}
    for requirement in map(Requirement, lines):
        if requirement.name != "selfdict":
            name = CONDA_NAMES.get(requirement.name, requirement.name)
            expected[name] = str(requirement.specifier)
    build = PYPROJECT["build-system"]["requires"]
    host = [line.replace(" ", "") for line in recipe["requirements"]["host"]]
    assert set(build) <= set(host)
    assert set(build) <= set(extras["build"])
    found = dict(line.split(maxsplit=1) for line in recipe["requirements"]["run"])
    found["python"] = found["python"].replace("${{ python_min }}", recipe["context"]["python_min"])
    assert found == expected
    assert recipe["context"]["version"] == selfdict.__version__


def test_the_lowest_versions_are_those_of_the_requirements():
    """All that the extra ``all`` installs; a bound without a build for this Python may be lower."""
    lowest = pins("constraints-lowest.txt")
    for requirement in requirements():
        if requirement.name in lowest:
            (pin,) = lowest[requirement.name]
            (exact,) = pin.specifier
            assert requirement.specifier.contains(exact.version)


def test_citation_and_archive_describe_the_same_software():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    archive = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert citation["license"] == archive["license"] == PROJECT["license"]
    assert citation["title"] == archive["title"]
    assert citation["abstract"] == archive["description"]
    assert citation["keywords"] == archive["keywords"] == PROJECT["keywords"]
    names = [author["name"] for author in PROJECT["authors"]]
    assert [author["name"] for author in citation["authors"]] == names
    assert [author["name"] for author in archive["creators"]] == names


def test_the_paper_cites_what_its_bibliography_holds():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    assert set(re.findall(r"@([a-z]+\d*[a-z]*)", text)) == set(re.findall(r"@\w+{(\w+),", entries))


def test_the_paper_has_the_table_of_the_readme():
    def table(path):
        lines = path.read_text(encoding="utf-8").splitlines()
        start = next(k for k, line in enumerate(lines) if line.startswith("| endmembers"))
        return lines[start : lines.index("", start)]

    assert table(ROOT / "paper" / "paper.md") == table(ROOT / "README.md")
