# One command for each task; `make help` lists them. CI runs `.ci/run`, which runs `make test`.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed-dev
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help install dev test check bench clean
MAKEFLAGS += --no-print-directory

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

install: $(STAMP) ## make .venv and install edgeemu with all that development needs

# Made again when pyproject.toml changes. The stamp comes last, so a broken install is tried again.
$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: \`$(PYTHON)\` was not found" >&2; \
	  echo "fix: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3.11" >&2; \
	  exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: edgeemu needs Python 3.11 or newer; \`$(PYTHON)\` is" \
	    "$$($(PYTHON) --version 2>&1)" >&2; \
	  echo "fix: install a newer one and name it: make PYTHON=/path/to/python3.11" >&2; \
	  exit 2; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	  echo "== make .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "== install edgeemu and its development packages into .venv"
	@$(PIP) install -e '.[dev]'
	@touch $@

dev: $(STAMP) ## start the emulator with the demo of edgeemu.toml
	@$(BIN)/edgeemu dev

check: $(STAMP) ## the fast checks: format, lint, types, layers
	@echo "== format"
	@$(BIN)/ruff format --check --quiet . || { echo "fix: $(BIN)/ruff format ." >&2; exit 1; }
	@echo "== lint"
	@$(BIN)/ruff check --quiet .
	@echo "== types"
	@$(BIN)/mypy --no-error-summary
	@echo "== layers"
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report" >&2; exit 1; }

test: $(STAMP) ## every check that CI runs: the fast ones, then all tests
	@started=$$(date +%s); \
	$(MAKE) check && \
	echo "== tests" && \
	$(BIN)/python -m pytest && \
	echo "all checks passed in $$(( $$(date +%s) - started )) s"

bench: $(STAMP) ## measure the rows of the speed table
	@$(BIN)/python -m benchmarks

clean: ## remove .venv, build results and caches; the state in .edgeemu/ stays
	@rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@for part in edgeemu tests benchmarks templates; do \
	  [ ! -d $$part ] || find $$part -name __pycache__ -type d -prune -exec rm -rf {} +; \
	done
