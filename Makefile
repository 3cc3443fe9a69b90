# make chat   create what is needed and open the chat
# make test   create what is needed and run every check
# make help   list the targets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
CONSTRAINTS := .ci/constraints.txt
# For a GPU build, for example: make chat CMAKE_ARGS=-DGGML_CUDA=on; for the devices of other machines: -DGGML_RPC=on
# What llama.cpp was compiled with holds until something else is said; CMAKE_ARGS= goes back to none.
BUILT_WITH := $(shell cat $(VENV)/.llama 2>/dev/null)
ifeq ($(origin CMAKE_ARGS),undefined)
CMAKE_ARGS := $(BUILT_WITH)
endif
export CMAKE_ARGS
# pip's cache does not know what a build was compiled with.
ANEW := $(if $(CMAKE_ARGS)$(BUILT_WITH),--no-cache-dir --no-binary llama-cpp-python)
# GCC before 14 compiles llama.cpp's code for AMX wrongly without these (docs/install.md).
CPUINFO := /proc/cpuinfo
AMX_FLAGS := -fno-tree-dse -fno-dse
ifneq ($(shell grep -qs amx_int8 $(CPUINFO) && $(CC) -dumpfullversion 2>/dev/null | grep '^1[123][.]'),)
export CFLAGS += $(AMX_FLAGS)
export CXXFLAGS += $(AMX_FLAGS)
ANEW := --no-cache-dir --no-binary llama-cpp-python
endif
# Where it is set, every program that the tests start compiles the whole package again: half a second each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help chat test lint types contracts unit mutants format snapshots docs clean FORCE

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The stamp comes last, so that what was cut off is begun anew; so is what does not run since Python was upgraded.
$(VENV)/.made: $(shell $(BIN)/python -c 'import pip' 2>/dev/null || echo FORCE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "LocalSpec needs Python 3.11 or later; try: make PYTHON=python3.11 " + "chat")'
	@echo "Making a Python environment in $(VENV)."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --quiet --upgrade "pip>=25.1"
	@touch $@

ifneq ($(CMAKE_ARGS),$(BUILT_WITH))
$(VENV)/.llama: FORCE
endif
$(VENV)/.llama: $(VENV)/.made
	@echo "Compiling llama.cpp: once, for three to six silent minutes; longer for a GPU."
	@$(PIP) install --quiet --force-reinstall --no-deps $(ANEW) --constraint $(CONSTRAINTS) llama-cpp-python || \
		{ echo "llama.cpp was not compiled: see above. It needs a C++ compiler, and PyPI." >&2; exit 1; }
	@printf '%s\n' "$$CMAKE_ARGS" > $@

# A stamp stands for an environment that matches pyproject.toml, so that nothing is reinstalled until it changes.
$(VENV)/.app: pyproject.toml $(CONSTRAINTS) $(VENV)/.llama
	@echo "Installing LocalSpec into $(VENV)."
	@$(PIP) install --quiet $(ANEW) --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.app
	@echo "Installing the tools that check it."
	@$(PIP) install --quiet --constraint $(CONSTRAINTS) --group dev
	@touch $@

$(VENV)/.docs: pyproject.toml $(CONSTRAINTS) $(VENV)/.dev
	@echo "Installing the tools that build the pages."
	@$(PIP) install --quiet --constraint $(CONSTRAINTS) --group docs
	@touch $@

# Not a reason to fail: without a network the tests that compare real vocabularies are skipped, and the next run tries again.
$(VENV)/.tokenizers: $(CONSTRAINTS) $(VENV)/.made | $(VENV)/.dev
	@echo "Fetching vocabularies of real models for the tests: 77 MB, once."
	@if $(BIN)/python -m tests.tokenizers; then touch $@; fi

chat: $(VENV)/.app ## Open the chat
	@$(BIN)/localspec

test: lint contracts ## Run every check
	@$(MAKE) --no-print-directory --jobs=2 types unit

lint: $(VENV)/.dev ## Lint and check the formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## Check the types, strictly
	$(BIN)/mypy

contracts: $(VENV)/.dev ## Check that the arrows between modules point one way
	$(BIN)/lint-imports

unit: $(VENV)/.dev $(VENV)/.tokenizers ## Run the tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

mutants: $(VENV)/.dev ## Plant errors, and see whether the tests notice them (an hour)
	$(BIN)/python -m tests.mutants

format: $(VENV)/.dev ## Format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: $(VENV)/.dev ## Accept the screens as they are now; look at the difference first
	$(BIN)/python -m pytest tests/tui --snapshot-update

docs: $(VENV)/.docs ## Write the tables of the pages anew; build the site in build/site
	$(BIN)/python -m tests.readme
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs . build/site
	@echo "The site is in build/site/index.html."

clean: ## Remove the environment, the caches and what was built
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
