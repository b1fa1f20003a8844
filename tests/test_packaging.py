"""Versions and requirements agree wherever they are written down."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import selfdict

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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
            found.setdefault(pin.name, []).append(pin)
    return found


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert PROJECT["version"] == selfdict.__version__
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == selfdict.__version__


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_the_constraints_hold_every_requirement(requirement):
    found = pins("constraints.txt")[requirement.name]
    for pin in found:
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert requirement.specifier.contains(exact.version)
