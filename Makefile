# make demo and make test install everything they need into .venv. They require Python 3.11+, make and pip.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Processes that run tests: one more than two cores, since some tests wait for a browser or a cluster.
WORKERS ?= 3

# Tests start many processes of the package: byte code is written, so that each of them does not compile it again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test check lint format bench golden docs clean

help:            ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## evaluate two retrievers and their answers on the bundled corpus
	$(BIN)/steelyard demo --out steelyard-demo

test: $(VENV)/.dev lint ## run linter, type checker, tests and the examples in the documentation
	@$(BIN)/mypy >$(VENV)/types.log 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n $(WORKERS); tests=$$?; \
	wait $$types; types=$$?; \
	echo "mypy:"; cat $(VENV)/types.log; \
	exit $$((tests + types))

check: lint      ## run ruff and the strict type checker
	$(BIN)/mypy

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## format the code and fix lint errors
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## run the benchmarks, next to other tools if they are installed
	$(BIN)/python -m bench

golden: $(VENV)/.dev ## compare ranking metrics with recorded output of trec_eval
	$(BIN)/python -m pytest tests/metrics/ranking tests/ranking

docs: $(VENV)/.dev ## regenerate the generated pages in docs/
	$(BIN)/python -m tests.docs.generated

clean:           ## remove all files that make created
	rm -rf $(VENV) steelyard-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[systems]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[systems]" --group dev
	touch $@ $(VENV)/.demo
