# The two commands are `make demo` and `make test`.  Every target first makes its own .venv, once, and says what it waits for.

EXTRAS := spark,sql
# ^ optional parts installed for the tests, comma-separated, as in pyproject.toml.  `spark` brings PySpark (456 MB).

JOBS   ?= 2
BIN    := .venv/bin
READY  := .venv/.ready
PYTEST := $(BIN)/python -m pytest
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help demo test check bench docs reference layers warm jars wheel doctor clean

help:
	@echo "make demo       a small program, one change, and what it cost"
	@echo "make test       every test, the programs of the docs, and the house's own rules"
	@echo "make check      format, lint, types, layers and the fast tests"
	@echo "make bench      the benchmarks beside the Rust original, five minutes; BENCH='reach --size seed' for others"
	@echo "make docs       the documentation as a site, in site/"
	@echo "make wheel      the package with compiled kernels in it, in dist/"
	@echo "make reference  docs/reference, written anew from the docstrings"
	@echo "make layers     docs/layers.md, written anew from the modules' first lines"
	@echo "make clean      remove what was built (the .venv stays)"

$(READY): pyproject.toml constraints.txt Makefile
	@if [ -z "$(PYTHON)" ]; then \
	  echo "ebbflow needs Python 3.11 or newer, and none was found. Debian/Ubuntu: apt-get install python3 python3-venv."; exit 1; fi
	@rm -f $@
	@echo "Installing into .venv: about 65 packages, 2 GB on disk, once. One to two minutes by pip, seconds by uv."
	@case ",$(EXTRAS)," in *,spark,*) echo "Downloading PySpark, 456 MB, once.";; esac
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv -q --allow-existing --python "$(PYTHON)" .venv && \
	  uv pip install -q --python $(BIN)/python -c constraints.txt --group test --group lint -e ".$(if $(EXTRAS),[$(EXTRAS)])"; \
	else \
	  { "$(PYTHON)" -m venv .venv || { echo "Python's venv module did not work. Debian/Ubuntu: apt-get install python3-venv."; exit 1; }; } && \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt pip && \
	  $(BIN)/python -m pip install $$([ -t 2 ] || echo -q) -c constraints.txt --group test --group lint -e ".$(if $(EXTRAS),[$(EXTRAS)])"; \
	fi
	@touch $@

# What is missing on this machine, each in a sentence; silent where nothing is.
doctor: $(READY)
	@$(BIN)/python -m ebbflow doctor --missing

# Compile the kernels before tests run side by side, so that they are compiled once.
warm: $(READY)
	@$(BIN)/python -m ebbflow warm

# The connectors' jars, by Maven, before tests run side by side; without them the tests of Delta and Kafka say so.
jars: $(READY)
	@$(BIN)/python -m ebbflow.tools.jars || true

demo: doctor
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/python -m ebbflow demo; else $(BIN)/python -m ebbflow demo --spark; fi

test: doctor warm jars
	$(PYTEST) -n $(JOBS) --dist worksteal --doctest-modules

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -q -n $(JOBS) --dist worksteal -m "not slow" tests

# What only some targets need: a group of pyproject.toml, once.
.venv/.bench .venv/.docs: .venv/.%: $(READY)
	@echo "Installing the tools of the group $*, once."
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(BIN)/python -c constraints.txt --group $*; \
	else $(BIN)/python -m pip install -q -c constraints.txt --group $*; fi
	@touch $@

bench: doctor warm .venv/.bench
	@$(BIN)/python -m ebbflow bench $(BENCH)

# The figures and the reference are written anew, then the site and the explorer's pages beside it; then every link of
# the site is followed.
docs: .venv/.docs
	$(BIN)/python -m docs.figures
	$(BIN)/python -m docs.reference
	$(BIN)/zensical build --clean
	@cp -rL docs/plots site/  # the builder does not follow links
	$(BIN)/python -m docs.figures --explorer site/explore
	$(BIN)/python -m docs.links site

# A wheel with compiled kernels in it, in dist/; on Linux for x86-64.
wheel: $(READY)
	@EBBFLOW_WHEEL_KERNELS=1 $(BIN)/python -c "from hatchling import build; print('dist/' + build.build_wheel('dist'))"

reference: $(READY)
	$(BIN)/python -m docs.reference

layers: $(READY)
	$(BIN)/python -m tests.house.layers --write

clean:
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -print | xargs rm -rf
