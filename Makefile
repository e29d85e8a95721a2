# Every target is complete on a machine with Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
# uv installs four times as fast as pip; where it cannot be had, pip serves. Either is quiet: one line says what is waited for.
INSTALL = if [ -x $(BIN)/uv ]; then UV_COMPILE_BYTECODE=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/uv pip install --quiet --require-hashes -r $(1); \
          else $(PIP) install --require-hashes -r $(1); fi
CODE   := app tests bench papers trials migrations client/src
export PIP_NO_WARN_SCRIPT_LOCATION := 1

.PHONY: serve demo test test-slow durations check check-types check-rules format openapi clients docs chart release migrate bench papers trials screenshots lock clean

serve: $(VENV)/.serve  ## start the service with what it needs: http://127.0.0.1:8000/docs
	@echo "Starting the service"
	@$(BIN)/cornerwave-server serve

demo: $(VENV)/.serve  ## the same, with a demonstration in it; the link that is printed leads there
	@echo "Starting the service, then issuing eight copies for the demonstration (some seconds)"
	@$(BIN)/cornerwave-server demo

# Two workers on two cores: threads of BLAS and OpenMP would wait for each other, and burn time in it.
# And bytecode is kept: many processes begin here, and compile the service for seconds without.
PYTEST = env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev  ## every test of the fast tier, with its own PostgreSQL and Redis
	$(PYTEST) $(ARGS)

test-slow: $(VENV)/.dev  ## the slow tier: simulations, kills, fuzzing, installs, every page in every look
	$(PYTEST) -m slow $(ARGS)

durations: $(VENV)/.dev  ## the fast tier again, recording the processor time of every test in tests/durations.json
	$(PYTEST) --record-durations tests/durations.json $(ARGS)

check: $(VENV)/.dev  ## format, lint, types, import contracts, budget of the tests, words and names
	$(MAKE) --no-print-directory --jobs 2 --output-sync check-types check-rules

check-types:
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 client/src

check-rules:
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/lint-imports
	$(BIN)/python -m tests.durations
	$(BIN)/python -m tests.prose --quiet
	$(BIN)/python -m bench.walks --check

format: $(VENV)/.dev
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

openapi: $(VENV)/.dev  ## write the examples, then openapi/openapi.json
	$(BIN)/python -m tests.api.story
	$(BIN)/cornerwave-server openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json
	$(BIN)/python -m tests.reference

clients: $(VENV)/.dev  ## lint the OpenAPI document; generate and compile clients in Go, Java and TypeScript, in var/clients
	$(BIN)/python -m tests.generated_clients var/clients

docs: $(VENV)/.dev  ## write docs/reference from the code; check pages, links and search. The service serves them at /guides
	$(BIN)/python -m tests.reference
	$(BIN)/python -m pytest -q tests/portal/test_guides.py tests/test_reference.py tests/test_architecture.py

chart: $(VENV)/.dev  ## lint, render and validate the Helm chart; needs helm (and kubeconform) on the PATH
	$(BIN)/python -m tests.chart

release: $(VENV)/.dev  ## wheels, image context, SBOM, checksums and the changelog section, into dist/
	$(BIN)/python -m tests.release

migrate: $(VENV)/.serve  ## bring the database of CORNERWAVE_DATABASE_URL (or ./var) to the newest schema
	$(BIN)/cornerwave-server migrate

bench: $(VENV)/.bench  ## every script under bench/, then docs/benchmarks.md
	$(BIN)/python -m bench $(ARGS)

papers: $(VENV)/.bench  ## every table and figure of the papers, then docs/papers/; QUICK=1 for a minute's worth
	$(BIN)/python -m papers $(if $(QUICK),--quick) $(ARGS)

trials: $(VENV)/.dev  ## kills, faults, load and fuzzing, from where they stopped, then docs/trials.md
	$(BIN)/python -m trials $(ARGS)

screenshots: $(VENV)/.dev  ## every page of the portal, light and dark, wide and narrow, into var/screenshots/
	$(BIN)/python -m tests.browser.screenshots

lock:  ## resolve anew; needs uv. The export names no registry.
	uv lock
	uv export --quiet --format requirements.txt --no-header --no-emit-project --output-file requirements.txt
	uv export --quiet --format requirements.txt --no-header --no-emit-project --extra dask --output-file requirements-cluster.txt
	uv export --quiet --format requirements.txt --no-header --no-emit-project --all-extras --group dev --output-file requirements-dev.txt
	uv export --quiet --format requirements.txt --no-header --no-emit-project --all-extras --group dev --group bench --output-file requirements-bench.txt

clean:
	rm -rf $(VENV)

# The stamps say which set of packages the environment holds. What is installed is compiled, also
# where PYTHONDONTWRITEBYTECODE is set: without bytecode the start takes three times as long.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Cornerwave needs Python 3.11 or newer; set PYTHON=")'
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install uv || echo "uv cannot be had here; pip takes a minute or two instead"
	@touch $@

# The code is found where it stands, and the command is a line that starts it.
$(VENV)/.commands: Makefile | $(VENV)/.python
	@$(BIN)/python -c 'import pathlib, sysconfig; here = pathlib.Path.cwd(); pathlib.Path(sysconfig.get_path("purelib"), "cornerwave.pth").write_text(f"{here}\n{here}/client/src\n")'
	@printf '#!/bin/sh\nexec "%s/python" -m app "$$@"\n' "$(abspath $(BIN))" > $(BIN)/cornerwave-server
	@chmod +x $(BIN)/cornerwave-server
	@touch $@

$(VENV)/.serve: requirements.txt | $(VENV)/.python $(VENV)/.commands
	@echo "Downloading and installing $$(grep -c '==' requirements.txt) packages into $(VENV) (once, about half a minute)"
	@$(call INSTALL,requirements.txt)
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.serve
	@echo "Downloading and installing the test tools into $(VENV) (once, about half a minute)"
	@$(call INSTALL,requirements-dev.txt)
	@# The client's command needs packages that the service does not have.
	@printf '#!/bin/sh\nexec "%s/python" -m cornerwave "$$@"\n' "$(abspath $(BIN))" > $(BIN)/cornerwave
	@chmod +x $(BIN)/cornerwave
	@touch $@

$(VENV)/.bench: requirements-bench.txt $(VENV)/.dev
	@$(call INSTALL,requirements-bench.txt)
	@touch $@
