# `make demo` and `make test` need a Rust toolchain, Python 3.11 or later and make. All else goes into .venv here.

PYTHON ?= python3
OUT    ?= demo-output
SECONDS ?= 600
SEEDS  ?= 1000
MINUTES ?= 60
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
FUZZ   ?= event_stream websocket journal resource error_body gzip address
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The versions that the tests last passed with, for one version of Python.
LOCK    = tests/lock-$(shell $(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt
RUST   := Cargo.toml Cargo.lock $(shell find src -name '*.rs')
PY     := python tests docs benches examples notebooks tools .github

.PHONY: help demo test lint lint-rust lint-python lint-dependencies licences test-rust test-python docs site bench fuzz miri notebooks simulate soak spark generate mutants lock rehearse

help:
	@echo "make demo    walk a simulated season; its tables go to $(OUT)/"
	@echo "make test    every check and test"
	@echo "make lint    the checks alone: rustfmt, clippy, ruff, mypy"
	@echo "make licences  write THIRD-PARTY-LICENSES.txt (cargo-about)"
	@echo "make generate  write the clients, Faults.add, the exports and their tables from the declarations"
	@echo "make docs    write docs/tables.md from the declarations"
	@echo "make site    the documentation as HTML, in site/"
	@echo "make notebooks  run the notebooks and write their outputs"
	@echo "make soak    everything at once for SOAK_SECONDS (default an hour) against random faults; soak-report.md"
	@echo "make spark   Spark on loopback, a master and two workers: rows, kills, rates, secrets (some minutes; Java 17)"
	@echo "make bench   speed against named peers, with a release build; writes benches/REPORT.md"
	@echo "make fuzz    each target of fuzz/ for SECONDS=$(SECONDS) (nightly Rust, cargo-fuzz)"
	@echo "make simulate  SEEDS=$(SEEDS) nights of the client on virtual time, each from its seed; SEED=n shows one"
	@echo "make mutants  mutation testing for MINUTES=$(MINUTES) (cargo-mutants, mutmut); writes benches/MUTANTS.md"
	@echo "make lock    write down the versions of the development tools that are installed"
	@echo "make rehearse  a release on this machine: wheels, a local index, each Python that is here"
	@echo "make miri    the unsafe parts under Miri (nightly Rust with miri)"

demo: $(VENV)/.built $(VENV)/.arrow
	$(BIN)/sideline demo --seed 7 --out $(OUT)

# Compilers and pip wait for different things, so two go at a time; then the tests take every processor.
test:
	$(MAKE) --jobs=2 lint test-rust
	$(MAKE) test-python

lint: lint-rust lint-python lint-dependencies

# A toolchain of the minimal profile has neither rustfmt nor clippy. Clippy has a folder of its own: maturin sets variables
# that pyo3's build scripts look at, and in one folder the two would compile pyo3 anew after each other. Only the library
# knows Python, so with Python the tests and benches would be the same again.
lint-rust: $(VENV)/.made
	@if cargo fmt --version >/dev/null 2>&1; then set -x; cargo fmt --check; \
	else echo "SKIPPED rustfmt: not installed (rustup component add rustfmt)"; fi
	@if cargo clippy --version >/dev/null 2>&1; then set -ex; \
	cargo clippy --locked --quiet --target-dir target/lint --all-targets --no-default-features -- -D warnings; \
	PYO3_PYTHON=$(CURDIR)/$(BIN)/python cargo clippy --locked --quiet --target-dir target/lint --lib -- -D warnings; \
	else echo "SKIPPED clippy: not installed (rustup component add clippy)"; fi

lint-python: $(VENV)/.tested-with
	$(BIN)/ruff check $(PY)
	$(BIN)/ruff format --check $(PY)
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github/workflows

# Licences, sources and duplicate versions, offline. Advisories come from a database that must be fetched: where it cannot be
# reached, that check alone is skipped.
lint-dependencies:
	@if cargo deny --version >/dev/null 2>&1; then set -ex; \
	cargo fetch --locked; cargo deny --offline check licenses sources bans; \
	if cargo deny fetch db >/dev/null 2>&1; then cargo deny check --disable-fetch advisories; \
	else echo "SKIPPED advisories: their database cannot be reached"; fi; \
	else echo "SKIPPED cargo-deny: not installed (cargo install --locked cargo-deny)"; fi

# Needs cargo-about (cargo install --locked cargo-about --features cli). A test fails where the file is stale.
licences:
	cargo about generate --locked --offline --all-features about.hbs --output-file THIRD-PARTY-LICENSES.txt

test-rust:
	cargo test --locked --quiet --no-default-features

# A file's tests stay in one process, which has their servers and sessions. Many wait for a network's time to pass, so there are
# more processes than processors. The order of the files is that of tests/conftest.py: xdist's own ends with the files of few
# tests, some of which take minutes.
test-python: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# A test fails where a generated file is stale.
generate: $(VENV)/.built
	$(BIN)/python tools/generate.py

docs: $(VENV)/.built $(VENV)/.arrow
	$(BIN)/python docs/make_tables.py

site: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/mkdocs build --strict

notebooks: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python notebooks/run.py

# An environment of its own: an editable install would put the release build where the tests look for theirs.
bench:
	$(PYTHON) -m venv target/bench
	target/bench/bin/python -m pip install --quiet --disable-pip-version-check "maturin>=1.16,<2" "zopflipy==1.14" --requirement benches/requirements.txt
	rm -rf target/bench/wheels
	CARGO_TARGET_DIR=target/bench/cargo target/bench/bin/maturin build --locked --release --compression-level 9 --out target/bench/wheels
	target/bench/bin/python .github/shrink_wheels.py target/bench/wheels
	target/bench/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/bench/wheels/*.whl
	target/bench/bin/python benches/report.py

# What is found goes to fuzz/artifacts, and the way there to target/: fuzz/corpus holds seeds, and is read only. The lock is a
# copy, so that what is fuzzed is built of what ships.
fuzz:
	cp Cargo.lock fuzz/Cargo.lock
	@set -ex; for target in $(FUZZ); do mkdir -p target/fuzz/$$target; \
	cargo +nightly fuzz run $$target target/fuzz/$$target fuzz/corpus/$$target -- \
	-max_total_time=$(SECONDS) -max_len=4096 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1; done

# Miri checks each unsafe block: bounds, provenance, initialisation, data races. It is about a thousand times slower than a
# processor, so the tests that only repeat do less under it. Isolation is lifted for the process id.
miri:
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats" cargo +nightly miri test --locked --no-default-features --lib -- json:: table:: fork_safe::

# A random sample of each area's mutants; AREA=name takes one area.
mutants: $(VENV)/.built $(VENV)/.tested-with
	@cargo mutants --version || { echo "install it first: cargo install --locked cargo-mutants"; exit 1; }
	$(PIP) "mutmut>=3.8,<4"
	$(BIN)/python benches/mutants.py --minutes $(MINUTES) $(if $(AREA),--area "$(AREA)")

rehearse: $(VENV)/.made
	$(PIP) "zopflipy==1.14"
	$(BIN)/python .github/rehearse.py

# The trace of one night, or as many nights as SEEDS says.
simulate:
ifdef SEED
	SIDELINE_SEED=$(SEED) cargo test --locked --quiet --no-default-features --lib -- simulation::one_night --exact --ignored --nocapture
else
	SIDELINE_SEEDS=$(SEEDS) cargo test --locked --quiet --no-default-features --lib -- simulation::two_hundred_nights --exact --nocapture
endif

# In a fresh .venv: newer versions of the development tools, once the tests pass with them.
lock: $(VENV)/.tested-with
	$(BIN)/python -m pip freeze --exclude sideline > $(LOCK)

# SOAK_SECONDS (default 3600), SOAK_SEED.
soak: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python tests/soak.py soak-report.md

spark: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python tests/spark_cluster.py

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) "maturin>=1.9.4,<2"
	touch $@

# With the dev profile: fat LTO is for wheels.
$(VENV)/.built: $(VENV)/.made pyproject.toml README.md $(RUST)
	$(BIN)/maturin develop --locked
	touch $@

$(VENV)/.arrow: $(VENV)/.made
	$(PIP) "pyarrow>=16"
	touch $@

$(VENV)/.tested-with: $(VENV)/.made pyproject.toml $(wildcard tests/lock-*.txt)
	$(BIN)/python -c 'import tomllib; \
	pyproject = tomllib.load(open("pyproject.toml", "rb")); \
	lists = [*pyproject["project"]["optional-dependencies"].values(), *pyproject["dependency-groups"].values()]; \
	print(*(one for each in lists for one in each), sep="\n")' > $(VENV)/requirements.txt
	@# First the versions of the lock, as they are; then what it lacks. A version may have been withdrawn since.
	$(if $(wildcard $(LOCK)),-$(PIP) --no-deps --requirement $(LOCK))
	$(PIP) --requirement $(VENV)/requirements.txt
	@# It fetches itself when it first runs; where it cannot, its test is skipped.
	-@$(BIN)/pyright --version >/dev/null 2>&1
	touch $@
