# make demo and make test set up all they need in .venv; nothing but Python 3.11+, make and pip is assumed.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: help demo test check format bench golden docs clean

help:            ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## weigh two retrievers and their answers on the corpus that ships
	$(BIN)/steelyard demo --out steelyard-demo

test: check      ## lint, types, tests, tested documentation
	$(BIN)/python -m pytest -n 2 --ignore tests/render --ignore tests/runs/test_ray_job.py
	$(BIN)/python -m pytest tests/render
	$(BIN)/python -m pytest tests/runs/test_ray_job.py

check: $(VENV)/.dev ## ruff and the strict type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## print our figures beside those of the peers that are installed
	$(BIN)/python -m bench

golden: $(VENV)/.dev ## the ranking cases with trec_eval's own answers
	$(BIN)/python -m pytest tests/metrics/ranking tests/ranking

docs: $(VENV)/.dev ## write the generated parts of docs/ again
	$(BIN)/python -m tests.docs.generated

clean:           ## remove what make made
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
