# `make demo` and `make test` need a Rust toolchain, Python 3.11 or later and make. All else goes into .venv here.

PYTHON  ?= python3
OUT     ?= demo-output
SECONDS ?= 600
SEEDS   ?= 1000
MINUTES ?= 60
FUZZ    ?= event_stream websocket journal resource error_body gzip address
# Many tests wait for a network's time to pass, so there are more processes than processors.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 3)')
VENV    := .venv
BIN     := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# The versions of a dependency group that the tests last passed with, for every Python and system, each file by its hash.
locked   = $(call install,--no-deps --require-hashes --requirement tests/lock-$(1).txt)
# uv takes a fifth of pip's time; only pip reads pip's settings, such as another index.
install  = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(PIP) $(1)
LOCKS   := development test-everywhere build release audit spark mutants
# What of the locks the tests of a wheel have: `test-everywhere` is enough, and has wheels for every system.
LIBRARIES ?= development
NIGHTLY ?= nightly
# One digest for each processor's Alpine.
MUSL    := python:3.13-alpine@sha256:399babc8b49529dabfd9c922f2b5eea81d611e4512e3ed250d75bd2e7683f4b0
RUST    := Cargo.toml Cargo.lock .cargo/config.toml $(shell find src crates -name '*.rs' -o -name Cargo.toml)
PY      := python tests docs benches examples notebooks tools .github

# One set of packages and features for clippy, tests and the extension: each crate is compiled once.
CRATES  := --locked --package sideline --package sideline-reader --package sideline-tables --package sideline-tracking --package sideline-simulator --package sideline-python --package sideline-extension --features sideline-extension/test-util
# What maturin sets when it builds the extension: PyO3 is compiled again where these differ.
MATURIN  = PYO3_PYTHON=$(CURDIR)/$(BIN)/python PYTHON_SYS_EXECUTABLE=$(CURDIR)/$(BIN)/python PYO3_BUILD_EXTENSION_MODULE=1 \
	$(shell $(BIN)/python tools/pyo3_settings.py)
# For `make check` and `make test` clippy reads each crate while it is compiled: by itself it would check all dependencies once more.
ifeq ($(shell clippy-driver --version >/dev/null 2>&1 && echo yes),yes)
check test: export RUSTC_WORKSPACE_WRAPPER = clippy-driver
check test: export CLIPPY_ARGS = -Dwarnings__CLIPPY_HACKERY__
endif
CLIPPY   = cargo $(if $(filter clippy-driver,$(RUSTC_WORKSPACE_WRAPPER)),build --quiet $(CRATES) --all-targets,clippy --quiet $(CRATES) --all-targets -- -D warnings)
# nextest runs the tests of all binaries side by side.
RUST_TESTS = $(MATURIN) cargo $(shell cargo nextest --version >/dev/null 2>&1 && echo nextest run --test-threads $(WORKERS) --status-level fail --final-status-level slow || echo test --quiet) $(CRATES)
# A file's tests stay in one process, which has their servers and sessions. The order of the files is that of tests/conftest.py:
# xdist's own ends with the files of few tests, some of which take minutes.
PYTEST   = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# Tests start many processes; each would compile the package and the tests again.
unexport PYTHONDONTWRITEBYTECODE
# Tests that call cargo lint nothing.
test-python unit-python: export RUSTC_WORKSPACE_WRAPPER =

# Quick files without waits: what `make check` runs of Python.
UNIT := $(addprefix tests/test_,$(addsuffix .py,clips court crates crosswalk dicts errors frame from_bytes generated golden keys language \
	metrics metrics_players private_imports ranges reprs rooms roots signature specification table tables workflows))

# Rust tests of whole nights and of whole seasons, which take seconds: `make check` leaves them to `make test`.
WHOLE := two_hundred_nights every_link_

.PHONY: help demo check test test-all lint lint-rust lint-python lint-dependencies msrv licences test-rust test-python unit-rust unit-python \
	docs tiers site bench fuzz miri notebooks simulate soak spark generate mutants mutants-changed extended lock realism growth rehearse \
	advisories finish-wheels test-wheel test-wheel-musl sdist build-offline test-published test-published-musl test-attestations

help:
	@echo "make demo    walk a simulated season; its charts and tables go to $(OUT)/"
	@echo "make check   what a change needs: format, lint, types, unit tests"
	@echo "make test    everything that proves a promise of the documentation"
	@echo "make test-all  the same with larger numbers, Spark, a soak, packaging, mutants"
	@echo "make extended  the Python tests that only make test-all runs (Java 17)"
	@echo "make lint    rustfmt, clippy, ruff, mypy, vulture, zizmor, cargo-deny"
	@echo "make msrv    compile with the oldest Rust that Cargo.toml promises (rustup)"
	@echo "make licences  write THIRD-PARTY-LICENSES.txt (cargo-about)"
	@echo "make generate  write the clients, Faults.add, the exports and their tables from the declarations"
	@echo "make docs    write docs/tables.md from the declarations, and the measured bias of docs/tracking.md"
	@echo "make tiers   write tests/TIERS.md: which tests each of the three commands runs"
	@echo "make site    the documentation as HTML, in site/"
	@echo "make notebooks  run the notebooks and write their outputs"
	@echo "make soak    everything at once for SOAK_SECONDS (default an hour) against random faults; soak-report.md"
	@echo "make spark   Spark on loopback, a master and two workers: rows, kills, rates, secrets (some minutes; Java 17)"
	@echo "make bench   speed against named peers, with a release build; writes benches/REPORT.md"
	@echo "make realism  the simulated season beside real games, for three seeds; writes benches/REALISM.md"
	@echo "make growth  memory, CPU, files and requests of syncs of growing archives; writes docs/scale.md"
	@echo "make fuzz    each target of fuzz/ for SECONDS=$(SECONDS) (nightly Rust, cargo-fuzz)"
	@echo "make simulate  SEEDS=$(SEEDS) nights of the client on virtual time, each from its seed; SEED=n shows one"
	@echo "make mutants  mutation testing for MINUTES=$(MINUTES) (cargo-mutants, mutmut); writes benches/MUTANTS.md"
	@echo "make lock    write tests/lock-*.txt: newer versions of what development and the release install, with hashes"
	@echo "make advisories  known vulnerabilities of all crates and packages (cargo-deny, cargo-audit)"
	@echo "make test-wheel  WHEEL=file: the tests against a wheel, in a fresh environment without source and Rust"
	@echo "make rehearse  a release on this machine: wheels, a local index, each Python that is here"
	@echo "make miri    the unsafe parts under Miri (nightly Rust with miri)"

# The compiler and the downloads wait for different things.
demo:
	$(MAKE) --jobs=2 $(VENV)/.built $(VENV)/.plot
	$(BIN)/sideline demo --seed 7 --out $(OUT)

# Compilers and Python wait for different things, so two go at a time; then the tests take every processor.
check:
	$(MAKE) --jobs=2 lint unit-rust
	$(MAKE) unit-python

test:
	$(MAKE) --jobs=2 lint test-rust $(VENV)/.collected
	$(MAKE) test-python

# SOAK_SECONDS=600 and MINUTES=20 unless said otherwise.
test-all: test
	$(MAKE) simulate SEEDS=100000
	$(MAKE) extended
	SOAK_SECONDS=$${SOAK_SECONDS:-600} $(MAKE) soak
	$(MAKE) spark
	$(MAKE) mutants MINUTES=$(if $(filter command line environment,$(origin MINUTES)),$(MINUTES),20)

lint: lint-rust lint-python lint-dependencies

# A toolchain of the minimal profile has neither rustfmt nor clippy. After the extension, whose settings of PyO3 it shares.
lint-rust: $(VENV)/.built
	@if cargo fmt --version >/dev/null 2>&1; then set -x; cargo fmt --all --check; \
	else echo "SKIPPED rustfmt: not installed (rustup component add rustfmt)"; fi
	@if cargo clippy --version >/dev/null 2>&1; then set -x; \
	$(MATURIN) $(CLIPPY); \
	else echo "SKIPPED clippy: not installed (rustup component add clippy)"; fi

lint-python: $(VENV)/.tested-with
	$(BIN)/ruff check $(PY)
	$(BIN)/ruff format --check $(PY)
	$(BIN)/mypy
	@$(BIN)/vulture --version >/dev/null
	! $(BIN)/vulture | grep '^python/'
	$(BIN)/zizmor --offline --quiet .github
	@if actionlint -version >/dev/null 2>&1; then set -x; actionlint; \
	elif go version >/dev/null 2>&1; then set -x; go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12; \
	else echo "SKIPPED actionlint: neither it nor Go is installed"; fi

# Licences, sources and duplicate versions, offline; `make advisories` asks the databases of vulnerabilities.
lint-dependencies:
	@if cargo deny --version >/dev/null 2>&1; then set -ex; \
	cargo fetch --locked; cargo deny --offline check licenses sources bans; \
	else echo "SKIPPED cargo-deny: not installed (cargo install --locked cargo-deny)"; fi

msrv:
	@version=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); set -ex; \
	rustup toolchain install "$$version" --profile minimal; \
	cargo "+$$version" check --target-dir target/msrv $(CRATES) --all-targets

# Needs cargo-about (cargo install --locked cargo-about --features cli). A test fails where the file is stale.
licences:
	cargo about generate --locked --offline --manifest-path crates/extension/Cargo.toml about.hbs --output-file THIRD-PARTY-LICENSES.txt

# After the extension: two builds at a time would only wait for each other.
test-rust: $(VENV)/.built
	$(RUST_TESTS)

unit-rust: $(VENV)/.built
	$(RUST_TESTS) --lib -- $(addprefix --skip ,$(WHOLE))

test-python: $(VENV)/.built $(VENV)/.tested-with
	$(PYTEST) -m "not extended"

unit-python: $(VENV)/.built $(VENV)/.tested-with
	$(PYTEST) -m "not extended" $(UNIT)

# A test fails where a generated file is stale.
generate: $(VENV)/.built
	$(BIN)/python tools/generate.py

docs: $(VENV)/.built $(VENV)/.plot
	$(BIN)/python docs/make_tables.py
	$(BIN)/python docs/make_tracking.py

tiers: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python tools/make_tiers.py

site: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/mkdocs build --strict

notebooks: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python notebooks/run.py

# An environment of its own: an editable install would put the release build where the tests look for theirs.
bench:
	$(PYTHON) -m venv target/bench
	target/bench/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	target/bench/bin/python -m pip install --quiet --disable-pip-version-check --group bench --group build --group release
	$(PYTHON) -m venv target/floodlight
	target/floodlight/bin/python -m pip install --quiet --disable-pip-version-check "floodlight==1.2.*" pyarrow
	rm -rf target/bench/wheels
	CARGO_TARGET_DIR=target/bench/cargo target/bench/bin/maturin build --locked --release --compression-level 9 --out target/bench/wheels
	target/bench/bin/python .github/shrink_wheels.py target/bench/wheels
	target/bench/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps target/bench/wheels/*.whl
	target/bench/bin/python benches/report.py

# With the extension of the tests, whose debug code takes more CPU than that of a wheel. GAMES="100 600 2400 6000 24000" for all.
growth: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python benches/growth.py --games $(or $(GAMES),100 600 2400 6000) --days 1460 --start 2023-03-01 --sessions 1 \
	--possessions 1 --json benches/growth.json
	$(BIN)/python benches/growth.py --games 100 2400 --sessions 4 --possessions 48 --only "first sync" "nothing new" "ten games" --json benches/growth.json
	$(BIN)/python benches/growth.py --games 1 12 100 --frames 10 --sessions 4 --possessions 48 --only "first sync" "nothing new" "ten games" \
	--json benches/growth.json
	$(BIN)/python docs/make_growth.py

# With the extension of the tests: what is measured is the season, not its speed.
realism: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python benches/realism

# What is found goes to fuzz/artifacts, and the way there to target/: fuzz/corpus holds seeds, and is read only. The lock is a
# copy, so that what is fuzzed is built of what ships.
fuzz:
	cp Cargo.lock fuzz/Cargo.lock
	@set -ex; for target in $(FUZZ); do mkdir -p target/fuzz/$$target; \
	cargo +$(NIGHTLY) fuzz run $$target target/fuzz/$$target fuzz/corpus/$$target -- \
	-max_total_time=$(SECONDS) -max_len=4096 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1; done

# Miri checks each unsafe block: bounds, provenance, initialisation, data races. It is about a thousand times slower than a
# processor, so the tests that only repeat do less under it. Isolation is lifted for the process id.
miri:
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats" cargo +$(NIGHTLY) miri test --locked --package sideline-reader --package sideline-tables --lib
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-deterministic-floats" cargo +$(NIGHTLY) miri test --locked --lib -- resource:: fork_safe::

# The 1,000 histories of the archive, and what else only `make test-all` runs of the Python tests; each night in CI.
extended: $(VENV)/.built $(VENV)/.tested-with
	$(call locked,spark)
	$(PYTEST) -m extended

# The mutants of the Rust lines that changed since the commit SINCE, against the unit tests of their crate.
mutants-changed:
	mkdir -p target
	git diff --relative "$(SINCE)" -- '*.rs' > target/changed.diff
	cargo mutants --in-diff target/changed.diff --output target/mutants-changed --jobs 2 --minimum-test-timeout 60 -- --locked --lib

# A random sample of each area's mutants; AREA=name takes one area.
mutants: $(VENV)/.built $(VENV)/.tested-with
	@cargo mutants --version || { echo "install it first: cargo install --locked cargo-mutants"; exit 1; }
	$(call locked,mutants)
	$(BIN)/python benches/mutants.py --minutes $(MINUTES) $(if $(AREA),--area "$(AREA)")

rehearse: $(VENV)/.made
	$(call locked,release)
	$(BIN)/python .github/rehearse.py

# What maturin made, as it is published: the SBOM reproducible, the archive small, no path of this machine, a limited size.
finish-wheels: $(VENV)/.made
	$(call locked,release)
	$(BIN)/python .github/clean_sbom.py $(WHEEL)
	$(BIN)/python .github/shrink_wheels.py $(WHEEL)
	$(BIN)/python .github/check_wheels.py $(WHEEL)

# The tests of a wheel that is there, or of the one for this system in a folder, beside no source and no Rust.
WHEEL_TESTS := python -m pytest -m "not source and not extended" --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
test-wheel:
	$(PYTHON) .github/in_fresh_environment.py $(WHEEL) tests/lock-$(LIBRARIES).txt $(WHEEL_TESTS)

# The same in Alpine Linux, which has musl. The container cannot write what it tests.
test-wheel-musl:
	docker run --rm --volume "$(CURDIR):/here:ro" --workdir /here $(MUSL) \
	python .github/in_fresh_environment.py $(WHEEL) tests/lock-test-everywhere.txt $(WHEEL_TESTS)

sdist: $(VENV)/.made
	$(BIN)/maturin sdist --out $(OUT)

# SDIST is the file. Only `cargo vendor` may ask the registry.
build-offline: $(VENV)/.made
	$(BIN)/python .github/build_offline.py $(SDIST) $(OUT)

# What an index serves is, byte for byte, what lies in the folder DIST, and works.
test-published:
	$(PYTHON) .github/check_published.py $(DIST)

test-published-musl:
	docker run --rm --volume "$(CURDIR):/here:ro" --workdir /here $(MUSL) python .github/check_published.py $(DIST)

# What an index says of who made the files in DIST. REPOSITORY is the project's page.
test-attestations: $(VENV)/.made
	$(call locked,audit)
	@set -ex; for file in $(DIST)/*; do $(BIN)/pypi-attestations verify pypi --repository "$(REPOSITORY)" "pypi:$$(basename $$file)"; done

# The trace of one night, or as many nights as SEEDS says.
simulate:
ifdef SEED
	SIDELINE_SEED=$(SEED) cargo test --quiet $(CRATES) --lib -- simulation::one_night --exact --ignored --nocapture
else
	SIDELINE_SEEDS=$(SEEDS) cargo test --quiet $(CRATES) --lib -- simulation::two_hundred_nights --exact --nocapture
endif

# Newer versions, but none of the last week: what is malicious is often found by then. Keep them once the tests pass.
lock: $(VENV)/.tested-with
	@set -ex; for name in $(LOCKS); do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --exclude-newer "1 week" --upgrade --group $$name --output-file tests/lock-$$name.txt \
	$$(test $$name = development || echo --constraints tests/lock-development.txt); done

# Known vulnerabilities of all that is linked, and of all that development and the release install. Red where a database is missing.
advisories: $(VENV)/.made
	$(call locked,audit)
	cargo deny check advisories
	cargo audit
	@set -ex; for name in $(LOCKS); do $(BIN)/pip-audit --strict --progress-spinner off --require-hashes --disable-pip \
	--requirement tests/lock-$$name.txt; done

# SOAK_SECONDS (default 3600), SOAK_SEED.
soak: $(VENV)/.built $(VENV)/.tested-with
	$(BIN)/python tests/soak.py soak-report.md

spark: $(VENV)/.built $(VENV)/.tested-with
	$(call locked,spark)
	$(BIN)/python tests/spark_cluster.py

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps --require-hashes --requirement tests/lock-build.txt
	touch $@

# With the dev profile: fat LTO is for wheels.
$(VENV)/.built: $(VENV)/.made pyproject.toml README.md $(RUST)
	$(BIN)/maturin develop --locked --features test-util
	touch $@

$(VENV)/.plot: $(VENV)/.made
	$(call install,"pyarrow>=16" "matplotlib>=3.8")
	touch $@

$(VENV)/.tested-with: $(VENV)/.made pyproject.toml $(wildcard tests/lock-*.txt)
	$(call locked,development)
	@# It fetches itself when it first runs; where it cannot, its test is skipped.
	-@$(BIN)/pyright --version >/dev/null 2>&1
	touch $@

# What is imported is compiled here once; in a fresh environment each process of the tests would do it.
# What cannot be collected is for the tests to say.
$(VENV)/.collected: $(VENV)/.tested-with | $(VENV)/.built
	-$(BIN)/python -m pytest --collect-only --quiet >/dev/null
	touch $@
