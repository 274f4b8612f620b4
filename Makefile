# The one entrance. Needs python3.11 or newer with venv, make and git; everything else installs itself into .venv.
PYTHON ?= python3
BIN := .venv/bin
BASE := .venv/.base
READY := .venv/.ready

.PHONY: help demo test lint format bench bench-explorer bench-gpu bench-speed clean

help:
	@echo "make demo    set up, run driftword on two centuries of speeches, show the result"
	@echo "make test    set up, check style and types, run all tests"
	@echo "make lint    style and types alone"
	@echo "make format  put the code into house style"
	@echo "make bench   how fast and small preparing is, beside a plain pipeline"
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

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest --numprocesses 2

format: $(READY)
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench: $(READY)
	$(BIN)/python benchmarks/prepare.py

bench-gpu: $(READY)
	$(BIN)/python benchmarks/bench_gpu.py $(CORPUS)

bench-explorer: $(READY)
	$(BIN)/python benchmarks/explorer.py $(MODEL)

bench-speed: $(READY)
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf .venv demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
