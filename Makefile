# Everything here works on a machine that has Python 3.11 or newer, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test coverage fuzz soak processors lowest pythons bare problems release lint docs bench peers scale paper theory clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## install into .venv and run the demonstration
	$(BIN)/metricfit demo

# One OpenMP thread in each of the two processes: more of them wait for each other.
test: $(VENV)/.installed-dev  ## run all tests and doctests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

coverage: $(VENV)/.installed-dev  ## run all tests and count the lines and branches that ran
	rm -f .coverage .coverage.*
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -q
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered

# By coverage, each target for SECONDS. atheris has no build for some Pythons; hypothesis tests the same targets in `test`.
SECONDS ?= 20
fuzz: $(VENV)/.installed-dev  ## fuzz the readers of policies, models, texts and tables
	$(BIN)/python -m pip install --quiet "atheris>=3.0" || echo "make fuzz: atheris cannot be installed here"
	for target in policy models text tables; do \
		$(BIN)/python tests/fuzz/run.py $$target --seconds $(SECONDS) || exit 1; \
	done

soak: $(VENV)/.installed-dev  ## 200 interrupted solves, 500 repeated ones, policies shared by threads
	METRICFIT_SOAK=20 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -s tests/soak

# The same numbers, added up in another order: what OpenBLAS does on other processors. The numeric tests must not care.
NUMERIC := tests/functions tests/metrics tests/methods tests/kernels tests/data tests/solvers
PROCESSOR ?= Haswell
processors: $(VENV)/.installed-dev  ## run the numeric tests as on another processor, PROCESSOR=Prescott|Haswell|SkylakeX
	OPENBLAS_CORETYPE=$(PROCESSOR) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q $(NUMERIC)

problems: $(VENV)/.installed-dev  ## solve 3,000 random problems and compare with the convex program
	METRICFIT_PROBLEMS=3000 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q tests/methods/test_drawn.py

# Environments of their own, made anew each time, under .environments. uv comes from the package index.
OTHER := .environments
define install
	rm -rf $(OTHER)/$(1) && $(2) -m venv $(OTHER)/$(1)
	$(OTHER)/$(1)/bin/python -m pip install --quiet uv
	$(OTHER)/$(1)/bin/uv pip install --quiet --python $(OTHER)/$(1)/bin/python $(3)
endef
define run
	OMP_NUM_THREADS=1 $(OTHER)/$(1)/bin/python -m pytest -n 2 -q
endef

lowest:  ## run all tests with the lowest versions that pyproject.toml names
	$(call install,lowest,$(PYTHON),--resolution lowest-direct --editable ".[all]" --group dev)
	$(call run,lowest)

bare:  ## run the tests that need no extra without any extra
	$(call install,bare,$(PYTHON),--editable . pytest pytest-xdist hypothesis)
	$(call run,bare)

# Interpreters are looked for on the path (where pyenv's stand-ins may lead nowhere) and in pyenv; none is downloaded.
pythons:  ## run all tests with the other versions of Python, 3.12 and 3.13, that are installed
	@for version in 3.12 3.13; do \
	    found=python$$version; \
	    $$found -c "" 2>/dev/null || found=$$(ls -d $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python 2>/dev/null | tail -1); \
	    if [ -z "$$found" ]; then echo "make pythons: no Python $$version here; install it (pyenv install $$version)"; exit 1; fi; \
	    $(MAKE) --no-print-directory python-$$version FOUND=$$found || exit 1; \
	done

python-%:
	$(call install,$@,$(FOUND),--editable ".[all]" --group dev)
	$(call run,$@)

# Wheel and sdist in dist. The wheel goes into an empty environment, where it is tested with the tests of the sdist, without
# any extra. SDIST_TESTS=tests runs all of them.
SDIST_TESTS ?= tests/data tests/functions tests/problem tests/result
release:  ## build wheel and sdist, check them, and test the wheel with the tests of the sdist
	$(call install,release,$(PYTHON),--group release)
	rm -rf dist && $(OTHER)/release/bin/python -m build
	$(OTHER)/release/bin/twine check --strict dist/*
	$(OTHER)/release/bin/check-wheel-contents dist/*.whl
	$(call install,wheel,$(PYTHON),dist/*.whl)
	cd $(OTHER)/wheel && bin/metricfit demo
	$(OTHER)/wheel/bin/uv pip install --quiet --python $(OTHER)/wheel/bin/python pytest pytest-xdist hypothesis
	rm -rf $(OTHER)/sdist && mkdir $(OTHER)/sdist && tar -xzf dist/*.tar.gz -C $(OTHER)/sdist --strip-components 1
	cd $(OTHER)/sdist && OMP_NUM_THREADS=1 ../wheel/bin/python -m pytest -n 2 -q $(SDIST_TESTS)

lint: $(VENV)/.installed-dev  ## check style, format, types and the layers of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors: a link that leads nowhere, a page without a place, a docstring that cannot be read.
docs: $(VENV)/.installed-dev  ## build the documentation site into build/site, without the network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(VENV)/.installed-dev  ## compare the kernels with plain NumPy
	$(BIN)/python benchmarks/kernels/oracle.py

# The other tools go into an environment of their own, benchmarks/peers/.venv, which is made on first use. About 15 minutes.
peers: $(VENV)/.installed-dev  ## compare macro-F1 and kappa with the tools that tune them elsewhere
	$(BIN)/python benchmarks/peers/macro_f1.py
	$(BIN)/python benchmarks/peers/kappa.py

# Takes some minutes, 4 GB of disk and 6 GB of memory.
scale: $(VENV)/.installed-dev  ## measure whole solves, growth, data on disk and a Dask cluster
	$(BIN)/python benchmarks/scale/solve.py --against
	$(BIN)/python benchmarks/scale/growth.py
	$(BIN)/python benchmarks/scale/disk.py
	$(BIN)/python benchmarks/scale/disk.py --rows 1000000 --parquet
	$(BIN)/python benchmarks/scale/cluster.py
	$(BIN)/python benchmarks/scale/cluster.py --classes 100

# METRICFIT_DATA names the folder with the data sets. PAPER="--quick" takes minutes, PAPER="--only hmean" one experiment.
paper: $(VENV)/.installed-dev  ## rerun the paper's experiments and write docs/paper.md
	$(BIN)/python benchmarks/paper $(PAPER)

theory: $(VENV)/.installed-dev  ## measure the paper's rates and bounds on known distributions, and write docs/theory.md
	$(BIN)/python benchmarks/theory

clean:  ## remove the environment, builds and caches
	rm -rf $(VENV) $(OTHER) benchmarks/peers/.venv build dist .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Stamps, so that an install happens once, and again when pyproject.toml changes.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# What the tests need contains what the demonstration needs, so both stamps are set.
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $(VENV)/.installed $@
