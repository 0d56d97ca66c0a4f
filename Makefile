# `make verify`: install, fetch the small data sets, check every claim, draw every figure, write report/index.html.
# `make test`:   install with the extras ray, flower and llm, lint, type-check, run the tests; the same examples each time.
# `make test-all`: the same with the slow tests: families of many cases, real federations, every claim once more.
# `make test-deep`: property tests on 2,000 new examples each; what they find becomes an example of `make test`.
# `make mutants ROOM=rmt`: wrong lines on purpose, and which of them the room's tests notice.
# `make formal`: compile the theorems in Coq, which `apt-get install coq libcoq-coquelicot` installs, and compare them
#                with the record and the ledger; PAPERS=FOLDER for a paper of your own. Nothing else needs Coq.
# `make gpu`:    on a machine with a GPU: tests of devices, products and estimates in three minutes (MINUTES=N), into
#                benchmarks/on_gpu.json.
# `make docs`:   write the pages of findings in docs/ from the ledger, and run the pages that are notebooks.
# `make site`:   build docs/ with an API reference as a site into site/, strictly; reading it takes no network.
# Both share one virtual environment and reuse it; verdicts are never reused.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := $(VENV)/.extras
SITE := $(VENV)/.site
ROOMS := rmt workloads hessian toymodels algorithms runs figures paper_checks
SLOW := -m 'not slow'
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# Commands and tests start many processes; without stored bytecode, each would compile the project again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: verify test test-all tests test-deep mutants formal lint docs site bench gpu clean

verify: $(READY)
	-$(BIN)/rankproof data fetch mnist fashion-mnist
	$(BIN)/rankproof report --out report

test: $(EXTRAS)
	$(MAKE) --no-print-directory --jobs=2 lint tests

test-all: $(EXTRAS)
	$(MAKE) --no-print-directory --jobs=2 lint tests SLOW=

tests: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist worksteal $(SLOW) --doctest-modules tests $(ROOMS) rankproof.py

test-deep: $(READY)
	HYPOTHESIS_PROFILE=deep $(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m hypothesis tests

mutants: $(READY)
	$(BIN)/python benchmarks/mutants.py $(ROOM)

formal: $(READY)
	$(BIN)/python -m paper_checks.formal $(addprefix --papers ,$(PAPERS))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python -m paper_checks.findings docs
	$(BIN)/python -m paper_checks.formal.page docs
	$(BIN)/python -m paper_checks.pages.overview docs
	$(BIN)/python -m paper_checks.engine.constants docs/figures
	$(BIN)/python -m paper_checks.pages.status_map docs/figures
	$(BIN)/python -m figures.experiments.differences docs/figures
	$(BIN)/python -m figures.rmt.crossing docs/figures
	$(BIN)/python website/notebook.py

site: $(SITE)
	$(BIN)/python website/site_build.py

bench: $(READY)
	$(BIN)/python benchmarks/rmt.py
	$(BIN)/python benchmarks/toy.py --figures
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[oracles]' || echo 'peers that are absent are left out'
	$(BIN)/python benchmarks/hessian.py
	$(BIN)/python benchmarks/hessian_products.py
	$(BIN)/python benchmarks/interval_coverage.py
	$(BIN)/python benchmarks/probe_coverage.py
	$(BIN)/python benchmarks/large_networks.py --only resnet-18
	$(BIN)/python benchmarks/kills.py
	$(BIN)/python benchmarks/federated.py $(if $(PEERS),--peers $(PEERS))

gpu: $(READY)
	$(BIN)/python benchmarks/on_gpu.py $(addprefix --minutes ,$(MINUTES))

clean:
	rm -rf $(VENV) report results site build *.egg-info

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankproof needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

# Tests of extras that cannot be installed are skipped; the next call tries again.
$(EXTRAS): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[ray,flower,llm]' \
	  && touch $(EXTRAS) || echo 'the extras ray, flower and llm cannot be installed: tests that need them are skipped'

$(SITE): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	touch $(SITE)
