# `make demo` and `make test` need Rust, Python 3.11 or later and make; everything else goes into .venv here.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= demo-output

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find src -name '*.rs')

.PHONY: help demo test lint test-rust test-python build clean

help:
	@echo "make demo   build, then walk a simulated season and write its tables to $(OUT)/"
	@echo "make test   build, then lint and test all of it"
	@echo "make lint   rustfmt, clippy, ruff, mypy"

demo: $(VENV)/.built $(VENV)/.arrow
	$(BIN)/sideline demo --seed 7 --out $(OUT)

test: lint test-rust test-python

build: $(VENV)/.built

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "maturin>=1.9.4,<2"
	touch $@

# The extension, once, with the dev profile: tests and clippy share its compiled dependencies.
$(VENV)/.built: $(VENV)/.made pyproject.toml $(RUST_SOURCES)
	$(BIN)/maturin develop --profile dev --quiet
	touch $@

$(VENV)/.arrow: $(VENV)/.built pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pyarrow>=16"
	touch $@
