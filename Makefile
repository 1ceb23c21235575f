# Two commands: `make demo` replays a 50-turn conversation, then shows how it ends with a recorded model; `make test` passes the tests.
# Both set themselves up; they need Python 3.11 to 3.13 and a package index.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOWEST := $(VENV)-lowest

# The tests start many processes: what is compiled is kept, also where the environment says otherwise.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-all test-thorough test-lowest lint types bench docs clean

demo: $(VENV)/.installed
	$(BIN)/acc replay examples/incident.jsonl
	@$(BIN)/python examples/14_recorded_model.py

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.dev
	ACC_HYPOTHESIS=full $(BIN)/python -m pytest -n 2

# Five times the examples of test-all, other ones each time: to look for breaches, not to decide whether a change lands.
test-thorough: $(VENV)/.dev
	ACC_HYPOTHESIS=thorough $(BIN)/python -m pytest -n 2

# The oldest versions that pyproject.toml allows, in an environment of their own: its bounds are no guesses.
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
	  --resolution lowest-direct --editable . --group dev
	$(LOWEST)/bin/python -m pytest -n 2 -m "not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

# The documentation as pages, in site/. Once the tools are installed, the build asks no network and imports no vendor.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "acc: needs Python 3.11 to 3.13; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --group docs
	@touch $@

clean:
	rm -rf $(VENV) $(LOWEST) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
