# `make verify`: install, fetch the small real data, check every claim, draw every figure, write report/index.html.
# `make test`:   install, lint, type-check, run the tests.
# `make docs`:   write the pages of findings in docs/ from the ledger.
# Both share one virtual environment and reuse it; verdicts are never reused.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: verify test lint docs bench clean

verify: $(READY)
	-$(BIN)/rankproof data fetch
	$(BIN)/rankproof report --out report

test: lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --doctest-modules tests rmt workloads hessian figures paper_checks

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(READY)
	$(BIN)/python -m paper_checks.findings docs

bench: $(READY)
	$(BIN)/python benchmarks/rmt.py
	$(BIN)/python benchmarks/toy.py --figures

clean:
	rm -rf $(VENV) report results build *.egg-info

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankproof needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
