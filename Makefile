# Everything runs inside .venv, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo demo-real test lint bench docs clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs]'
	@touch $@

demo: $(STAMP)  ## unmix an embedded scene and write a report
	$(BIN)/selfdict demo --output demo-out --force

demo-real: $(STAMP)  ## the same on the real Indian Pines scene that tensorly ships
	$(BIN)/selfdict demo --real --output demo-real-out --force

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest

lint: $(STAMP)  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)  ## speed, as ratios taken in one run
	$(BIN)/python -m benchmarks

docs: $(STAMP)  ## the documentation, warnings are errors
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) demo-out demo-real-out docs/_build docs/_generated docs/api/generated docs/gallery build dist
