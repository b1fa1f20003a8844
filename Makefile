# Everything runs inside .venv. Each target installs what it needs and no more, in the versions of
# constraints.txt, with uv if there is one and with pip if not.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

ifeq ($(UV),)
CREATE := $(PYTHON) -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
else
CREATE := $(UV) venv --quiet --seed --allow-existing --python $(PYTHON) $(VENV)
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
endif

# PyPI's build of torch for Linux brings gigabytes of CUDA libraries, which no test here uses. Where
# this index cannot be reached, pip takes the build that its own settings give.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# Without cached bytecode every process would compile NumPy and xarray anew, which takes a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: everything demo demo-real test lint bench docs wheel qgis test-qgis lock clean
.NOTPARALLEL:

$(BIN)/python:
	$(CREATE)

# One file per extra of pyproject.toml that is installed.
$(VENV)/.extra-%: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable '.[$*]'
	@touch $@

$(VENV)/.torch: constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --retries 0 --constraint constraints.txt \
		--extra-index-url $(TORCH_INDEX) torch
	@touch $@

$(VENV)/.extra-test: $(VENV)/.torch

# In one go: pip looks at all requirements again in each of its runs.
everything: $(VENV)/.torch  ## install what lint, test, docs and wheel need
	$(INSTALL) --editable '.[lint,test,neighbours,docs,build]'
	@touch $(addprefix $(VENV)/.extra-,lint test neighbours docs build)

demo: $(VENV)/.extra-cli  ## unmix an embedded scene and write a report
	$(BIN)/selfdict demo --output demo-out --force

demo-real: $(VENV)/.extra-cli  ## the same on the real Indian Pines scene that tensorly ships
	$(INSTALL) tensorly
	$(BIN)/selfdict demo --real --output demo-real-out --force

test: $(VENV)/.extra-test $(VENV)/.extra-neighbours  ## the whole test suite
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.extra-lint  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.extra-test  ## speed, as ratios taken in one run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.extra-docs  ## the documentation; warnings and broken links are errors
	$(BIN)/sphinx-build -W --keep-going $(SPHINXOPTS) -b html docs docs/_build/html
	$(BIN)/python .ci/check_links.py docs/_build/html

wheel: $(VENV)/.extra-build  ## build the distributions into dist and try them
	$(BIN)/python .ci/check_wheel.py

qgis: $(VENV)/.extra-build  ## build the QGIS plugin, build/selfdict_qgis.zip
	$(BIN)/python qgis/build_zip.py build

test-qgis: $(VENV)/.extra-test $(VENV)/.extra-build  ## the plugin in a QGIS without windows
	@command -v qgis_process || { echo "install QGIS first; on Debian: apt-get install" \
		"--no-install-recommends qgis python3-qgis qgis-providers python3-venv"; exit 1; }
	$(BIN)/python -m pytest qgis/tests

lock:  ## renew constraints.txt (needs uv)
	$(UV) pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate \
		--upgrade --output-file constraints.txt pyproject.toml

clean:
	rm -rf $(VENV) demo-out demo-real-out docs/_build docs/_generated docs/api/generated docs/gallery build dist
