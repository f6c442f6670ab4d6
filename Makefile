# `make run` and `make test` do everything from a fresh clone, given Python 3.11 or newer.
# Everything is installed into .venv at the versions of constraints.txt; delete it with `make clean`.

PYTHON ?= python3
JOBS   ?= 2
BIN    := .venv/bin
STAMP  := .venv/.installed
PIP    := $(BIN)/python -m pip --disable-pip-version-check install -qq --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup run test slow bench browser format clean

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: setup  ## set up and run the main job: learn to read handwritten digits
	$(BIN)/graph2tens train digits --overwrite

test: setup browser  ## set up, then formatting, linter, types and tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/pytest -n $(JOBS) -m "not slow"

slow: setup  ## the tests that take minutes
	$(BIN)/pytest -m slow

bench: setup  ## measure speed and memory against the reference
	$(BIN)/python -m benchmarks

# The report is tested in a real browser. Elsewhere than on Debian as root nothing is installed; the tests then say that they were skipped.
browser:  ## Chromium for the tests of the report, where apt-get may install it
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium and chromium-driver"; \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium chromium-driver; } >/dev/null || \
	  echo "Chromium could not be installed; the browser tests will be skipped (or fail, if CI is set)"; \
	else echo "No chromium and chromedriver here, and no right to install them; the browser tests will be skipped"; fi

format: setup  ## let ruff repair what it can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

setup: $(STAMP)

# torch comes first and alone: its exact build is settled before anything that depends on it is resolved.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name it, for example: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	$(PIP) torch
	$(PIP) --build-constraint constraints.txt --editable '.[data,molecules,plot]' --group dev
	@touch $@

clean:  ## remove the environment and all caches
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
