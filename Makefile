# `make demo` shows the library at work, `make test` runs every check; each sets up its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := .venv-demo
unexport PYTHONDONTWRITEBYTECODE  # else each of the hundreds of programs that tests start would compile zcdp anew

.PHONY: demo journey test quick dist deep spark service versions adapters mutants reach proofs bench docs derived clean

# Two stories in one picture, then a whole job from a table to published tables; needs no tool of the developers.
demo: $(DEMO)/ready
	@$(DEMO)/bin/python examples/demo.py build
	@echo
	@$(MAKE) --no-print-directory journey

# From a table of made-up persons to published tables, with a ledger: open build/tables/report.html.
journey: $(DEMO)/ready
	@mkdir -p build && rm -rf build/tables build/budget.db*
	@$(DEMO)/bin/python examples/persons.py build/persons.csv
	@$(DEMO)/bin/zcdp ledger open build/budget.db population --unit person --epsilon 2 --delta 1e-9 > build/ledger.txt
	@$(DEMO)/bin/zcdp release examples/persons.toml build/persons.csv --out build/tables --ledger build/budget.db --key demo

test: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -n 2 --dist worksteal -m "not deep"

# What concerns one file, in at most half a minute: make quick FILE=src/zcdp/ledger/chain.py
quick: $(VENV)/ready
	$(BIN)/python tools/quick.py $(FILE)

# Wheel and sdist in dist/, each tried in an empty environment with the README's blocks: then publishing is one command.
dist:
	$(PYTHON) tools/dist.py

# Heavy checks: ten thousand points per mechanism against the independent reference, every page in a browser.
deep: $(VENV)/docs-ready $(VENV)/browser-ready
	@if command -v java > /dev/null; then $(MAKE) --no-print-directory $(VENV)/spark-ready; fi
	ZCDP_TESTS_DRAW=fresh $(BIN)/pytest -n 2 -m deep -rs
	$(MAKE) --no-print-directory service

# A driver for the installed Chromium, and axe-core, which looks for what keeps people out of a page.
$(VENV)/browser-ready: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'playwright>=1.50'
	@mkdir -p build/axe
	@if command -v npm > /dev/null; then cd build/axe && npm pack --silent axe-core@4 > /dev/null && tar xzf axe-core-*.tgz package/axe.min.js; fi
	@touch $@

# What runs on Spark, in a real local session: the extra zcdp[spark], and Java 17 or newer on the path.
spark: $(VENV)/spark-ready
	$(BIN)/pytest -m spark -rs tests

$(VENV)/spark-ready: $(VENV)/ready
	@command -v java > /dev/null || { echo "Spark needs Java 17 or newer: apt install openjdk-17-jre-headless"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]'
	@touch $@

# The example service, with a thousand real requests at once over PostgreSQL, in an environment of its own.
service:
	$(PYTHON) -m venv .venv-service
	.venv-service/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres]' 'fastapi>=0.110' 'uvicorn>=0.29' 'httpx>=0.27' 'pytest>=9' 'hypothesis>=6.100'
	.venv-service/bin/python -m pytest -rs --override-ini filterwarnings=default tests/ledger/test_service.py

# The tests of samplers, arithmetic and doors at the declared minima of numpy and python-flint, and those of tables at
# the minima of DuckDB, narwhals, pandas, Polars and pyarrow; and all at the newest. In environments of their own; `python3 tools/versions.py -n 2 tests` runs all tests there.
versions:
	$(PYTHON) tools/versions.py

# The bridges into other systems, each with that system, in environments of their own; with the tests that a system
# publishes with itself. `make adapters SYSTEMS="opacus dp-accounting=FOLDER"`: these, the second from a copy of yours.
adapters:
	$(PYTHON) tools/adapters.py $(SYSTEMS)

# Plants the bugs of tools/mutants.toml one at a time, and fails if the tests do not notice one: half an hour on two cores.
mutants: $(VENV)/ready
	$(BIN)/python tools/mutants.py

# Which tests reach which function, for `python tools/plant.py`: that plants slips wherever one likes, and runs just those.
reach: $(VENV)/ready
	rm -rf build/reach
	$(BIN)/pytest -n 2 -m "not deep" -p reach --reach build/reach

# The theorems in Coq: nothing unfinished, no unexpected axiom, once more by coqchk; `python3 tools/check_proofs.py --broken`
# also plants what must be refused. Not part of `make test`, which needs no Coq.
proofs:
	$(PYTHON) tools/check_proofs.py

# Speed, as ratios in one run; the peers live in an environment of their own.
bench: $(VENV)/ready $(VENV)/browser-ready
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/channel.py
	$(BIN)/python benchmarks/accounting.py
	$(BIN)/python benchmarks/tightness.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/allocation.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/risks.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/training_peers.py
	$(BIN)/python benchmarks/collection.py
	$(BIN)/python benchmarks/release.py
	$(BIN)/python benchmarks/busy_cores.py
	$(BIN)/python benchmarks/earns.py
	$(BIN)/python benchmarks/explore.py

# What follows from the classes of mechanisms: exports, `MECHANISMS`, the reference and the list of theorems.
derived: $(VENV)/ready
	$(BIN)/python tools/write_derived.py

# The documentation site, for reading without the network: open build/docs/index.html.
docs: $(VENV)/docs-ready
	$(BIN)/python tools/write_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean
	@! grep -rlE '<(script|img|iframe)[^>]* src="?(https?:)?//|<link[^>]* href="?(https?:)?//' build/docs --include='*.html'

$(VENV)/docs-ready: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(DEMO)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "zcdp needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "zcdp needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO) .venv-peers .venv-service .venv-oldest .venv-newest .venv-dp-accounting .venv-opendp .venv-opacus .venv-tumult build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
