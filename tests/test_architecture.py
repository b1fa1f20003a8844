"""The house rules: rooms import to the left only, imports are quick, caches may fail, docstrings tell the truth."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpydoc.docscrape
import pytest

import selfdict

SOURCE = Path(selfdict.__file__).parent
ROOMS = [
    "kernels",
    "model",
    "abundances",
    "metrics",
    "select",
    "solvers",
    "backends",
    "estimators",
    "scene",
    "report",
    "experiments",
    "cli",
]
BESIDE = {"datasets": "estimators"}
MODULES = [
    info.name for info in pkgutil.walk_packages([str(SOURCE)], "selfdict.") if not info.name.endswith("__main__")
]


def room(module):
    name = module.split(".")[1] if "." in module else ""
    return BESIDE.get(name, name)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_to_its_left(path):
    here = room("selfdict." + path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", "."))
    if here not in ROOMS:
        return
    for name in imports(path):
        if name.startswith("selfdict.") and room(name) in ROOMS:
            assert ROOMS.index(room(name)) <= ROOMS.index(here), f"{path} imports {name}"


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )


def test_import_is_light_and_silent():
    """What makes an import slow is loaded on first use only."""
    result = python(
        "import sys, selfdict; print(sorted(set(sys.modules) & {'numba', 'sklearn', 'scipy', 'xarray', 'torch'}))"
    )
    assert result.stdout.strip() == "[]"
    assert result.stderr == ""


FIT = """
import numpy as np, selfdict
{before}
compiled = []
import numba.core.dispatcher as d
compile_ = d._FunctionCompiler.compile
d._FunctionCompiler.compile = lambda self, *a, **k: compiled.append(self.py_func.__name__) or compile_(self, *a, **k)
selfdict.FGNSR(2, random_state=0).fit(np.random.default_rng(0).random((20, 5)))
print(len(compiled))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    first, second = (python(FIT.format(before=""), NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert int(first.stdout) > 0, first.stderr
    assert int(second.stdout) == 0, second.stderr


def test_no_place_for_the_cache_is_no_error():
    before = "import numba.core.caching as c; c.CacheImpl._locator_classes = []"
    result = python(FIT.format(before=before))
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 0


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


@pytest.mark.parametrize("name", [name for name in selfdict.__all__ if not name.startswith("_")])
def test_docstrings_name_every_parameter(name):
    thing = getattr(selfdict, name)
    if not callable(thing) or name in (
        "Bundles",
        "Guarantee",
        "Solution",
        "Status",
    ):  # their docstrings describe attributes
        return
    text = numpydoc.docscrape.FunctionDoc(thing) if inspect.isfunction(thing) else numpydoc.docscrape.ClassDoc(thing)
    documented = [n.strip() for parameter in text["Parameters"] for n in parameter.name.split(",")]
    actual = [n for n in inspect.signature(thing).parameters if n != "self"]
    assert sorted(documented) == sorted(actual)
    assert text["Examples"] or inspect.isclass(thing)


def test_public_names_are_all_there():
    for name in selfdict.__all__:
        assert getattr(selfdict, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        selfdict.nonsense  # noqa: B018
