"""The house rules: rooms import to the left only, imports are quick, caches may fail, docstrings tell the truth."""

import ast
import doctest
from enum import Enum
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
# a package imports only from those before it
ORDER = [
    "compute",
    "kernels",
    "gpu",
    "model",
    "abundances",
    "metrics",
    "peers",
    "solvers",
    "reductions",
    "readout",
    "backends",
    "estimators",
    "scene",
    "report",
    "experiments",
    "cli",
]
BESIDE = {"datasets": "estimators"}
MODULES = [
    info.name
    for info in pkgutil.walk_packages([str(SOURCE)], "selfdict.")
    if not info.name.endswith("__main__")
]


def package(module):
    """Return the place in ORDER of a module's package; modules at the top (_errors, …) come first."""
    name = module.split(".")[1]
    name = BESIDE.get(name, name)
    if name in ORDER:
        return ORDER.index(name)
    assert name.startswith("_"), f"{module} belongs to no package in ORDER"
    return -1


def imports(path):
    """Yield the modules that a file imports; the name itself where it is a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            if node.module == "selfdict":
                yield from (f"selfdict.{alias.name}" for alias in node.names)
            else:
                yield node.module


def module_of(path):
    name = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    return "selfdict." + name.removesuffix(".__init__")


SOURCES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_from_those_before_it(path):
    here = package(module_of(path))
    for name in imports(path):
        if name.split(".")[0] != "selfdict":
            continue
        # the whole package would hide what is used, and where it lives
        assert name != "selfdict", f"{path}: import selfdict inside the package"
        if name == "selfdict.__version__":
            continue
        assert package(name) <= here, f"{path} imports {name}"


def test_the_order_names_every_package():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"metrics"}
    assert packages - set(BESIDE) == set(ORDER)


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
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
    failures, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failures == 0


def describes_attributes(cls):
    """Results, errors and enumerations: nobody calls them, so the docstring is about what they hold."""
    text = numpydoc.docscrape.ClassDoc(cls)
    return issubclass(cls, Exception | Enum) or bool(text["Attributes"] and not text["Parameters"])


@pytest.mark.parametrize("name", [name for name in selfdict.__all__ if not name.startswith("_")])
def test_docstrings_name_every_parameter(name):
    thing = getattr(selfdict, name)
    if not callable(thing) or (inspect.isclass(thing) and describes_attributes(thing)):
        return
    text = (
        numpydoc.docscrape.FunctionDoc(thing)
        if inspect.isfunction(thing)
        else numpydoc.docscrape.ClassDoc(thing)
    )
    documented = [n.strip() for parameter in text["Parameters"] for n in parameter.name.split(",")]
    actual = [n for n in inspect.signature(thing).parameters if n != "self"]
    assert sorted(documented) == sorted(actual)
    assert text["Examples"] or inspect.isclass(thing)


def test_public_names_are_all_there():
    for name in selfdict.__all__:
        assert getattr(selfdict, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        selfdict.nonsense  # noqa: B018
