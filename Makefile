# Every target is complete on a machine with Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
CODE   := app tests bench papers migrations
export PIP_NO_WARN_SCRIPT_LOCATION := 1

.PHONY: serve test check format openapi migrate bench papers lock clean

serve: $(VENV)/.serve  ## start the service with what it needs: http://127.0.0.1:8000/docs
	@$(BIN)/cornerwave serve

test: $(VENV)/.dev  ## every test, with its own PostgreSQL and Redis
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(ARGS)

check: $(VENV)/.dev  ## format, lint, types, import contracts
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

openapi: $(VENV)/.serve  ## write openapi/openapi.json
	$(BIN)/cornerwave openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

migrate: $(VENV)/.serve  ## bring the database of CORNERWAVE_DATABASE_URL (or ./var) to the newest schema
	$(BIN)/cornerwave migrate

bench: $(VENV)/.bench  ## every script under bench/, then docs/benchmarks.md
	$(BIN)/python -m bench $(ARGS)

papers: $(VENV)/.bench  ## every table and figure of the papers, then docs/papers/; QUICK=1 for a minute's worth
	$(BIN)/python -m papers $(if $(QUICK),--quick) $(ARGS)

lock:  ## resolve anew; needs uv. The export names no registry.
	uv lock
	uv export --quiet --format requirements.txt --no-header --no-emit-project --output-file requirements.txt
	uv export --quiet --format requirements.txt --no-header --no-emit-project --group dev --output-file requirements-dev.txt
	uv export --quiet --format requirements.txt --no-header --no-emit-project --group dev --group bench --output-file requirements-bench.txt

clean:
	rm -rf $(VENV)

# The stamps say which set of packages the environment holds. pip compiles what it installs, also
# where PYTHONDONTWRITEBYTECODE is set: without bytecode the start takes three times as long.
$(VENV)/.python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Cornerwave needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.serve: requirements.txt | $(VENV)/.python
	@echo "Installing the service into $(VENV) (once, about a minute)"
	$(PIP) install --require-hashes -r requirements.txt
	@$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "cornerwave.pth").write_text(str(pathlib.Path.cwd()))'
	@printf '#!/bin/sh\nexec "%s/python" -m app "$$@"\n' "$(abspath $(BIN))" > $(BIN)/cornerwave && chmod +x $(BIN)/cornerwave
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.serve
	@echo "Installing the test tools into $(VENV) (once, about a minute)"
	$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/.bench: requirements-bench.txt $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements-bench.txt
	@touch $@
