# The one entrance. Needs python3.11 or newer with venv, make and git; everything else installs itself into .venv.
PYTHON ?= python3
BIN := .venv/bin
BASE := .venv/.base
READY := .venv/.ready
OLDEST := .venv-oldest/.ready

.PHONY: help demo docs wheel check test test-oldest torture lint platforms format bench bench-explorer bench-all bench-gpu bench-speed clean

help:
	@echo "make demo    set up, run driftword on two centuries of speeches, show the result"
	@echo "make check   set up, check style and types, run the quick tests: a minute"
	@echo "make test    set up, check style and types, run all tests"
	@echo "make docs    the documentation as a site in site/; every link is checked and every snippet runs"
	@echo "make wheel   sdist and wheel in dist/, tried out in an empty folder"
	@echo "make test-oldest   run all tests with the oldest versions of everything that driftword needs"
	@echo "make torture MINUTES=10   kills, damaged files, hostile input and requests: is any result wrong?"
	@echo "make lint    style and types alone"
	@echo "make platforms   types as on Windows and macOS, and those of benchmarks"
	@echo "make format  put the code into house style"
	@echo "make bench   how fast and small preparing is, beside a plain pipeline"
	@echo "make bench-all CORPUS=un.corpus   models beside other methods: what they find, miss, repeat and cost"
	@echo "make bench-speed   how fast fitting is, beside gensim"
	@echo "make bench-explorer MODEL=un.model   how fast the explorer answers, and how many readers it holds"
	@echo "make bench-gpu CORPUS=un.corpus   how fast fitting is on this machine's GPU"

# What a user has; what only developers need comes with $(READY).
$(BASE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "driftword needs Python 3.11 or newer; run: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo,web]'
	@touch $@

$(READY): $(BASE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[demo,web,dev]'
	@touch $@

demo: $(BASE)
	$(BIN)/driftword demo --out demo

# A link that leads nowhere, or a name that is not in the code, ends the build.
docs: $(READY)
	$(BIN)/zensical build --strict
	$(BIN)/python -m pytest --numprocesses 2 tests/test_docs.py

# Packages must work without the repository: the wheel is made from the sdist, and runs the demonstration from an empty folder.
wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tests/check_wheel.py dist

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

# Windows and macOS, as far as types tell, and scripts that nobody runs every day; the first time takes three minutes.
platforms: $(READY)
	cd benchmarks && ../$(BIN)/mypy --config-file mypy.ini .
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

check: lint
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not slow"

# One process more than two cores need, since some tests wait for a browser or a server. A file stays in one process, which
# makes its fixtures once; those with the longest tests come first (tests/conftest.py).
test: lint
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

# The lower bounds of pyproject.toml, in an environment of their own.
$(OLDEST): pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt --editable '.[demo,web,dev]'
	@touch $@

# What old packages say about newer ones that they need is not our mistake, so it is no error there.
test-oldest: $(READY) $(OLDEST)
	$(BIN)/python -m pip check
	.venv-oldest/bin/python -m pip check
	.venv-oldest/bin/python -m pytest --numprocesses 2 --dist worksteal -W default::DeprecationWarning

# ONLY=kills,writers SCALE=0.1 SEED=3 CASE=17 choose and repeat; see docs/reliability.md.
torture: $(READY)
	cd benchmarks && ../$(BIN)/python -m torture $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(SCALE),--scale $(SCALE)) $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE))

format: $(READY)
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: $(READY)
	$(BIN)/python benchmarks/prepare.py

bench-all: $(READY)
	$(BIN)/driftword benchmark $(CORPUS) --out $(basename $(notdir $(CORPUS)))-benchmark

bench-gpu: $(READY)
	$(BIN)/python benchmarks/bench_gpu.py $(CORPUS)

bench-explorer: $(READY)
	$(BIN)/python benchmarks/explorer.py $(MODEL)

bench-speed: $(READY)
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf .venv .venv-oldest demo site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
