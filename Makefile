# What a user runs:      make demo            what a developer runs:      make check
# Each target makes its own virtual environment and installs the locked dependencies first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# a file's tests share what it starts; long ones come first, by the order of the folders
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
compile := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes $(LOCK)

.DEFAULT_GOAL := help

include tools/kube-apiserver/build.mk
include tools/helm/build.mk

.PHONY: help
help:  ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 18
	@echo 'kube-apiserver    Build a real control plane for the end-to-end tests (needs Go)'
	@echo 'helm, promtool    Build what the tests of the chart ask (needs Go)'

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed (PYTHON=...)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { echo 'the venv module is missing: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: install
install: $(READY)  ## Make the virtual environment with the command `pyroclast`

.PHONY: demo
demo: $(READY)  ## A cluster, jobs and the scheduler, on the screen in under a minute
	$(BIN)/pyroclast demo

.PHONY: test
test: $(READY)  ## All tests but those that need a real API server
	$(BIN)/python -m pytest -m 'not realserver' $(PARALLEL)

.PHONY: test-realserver
test-realserver: $(READY) kube-apiserver  ## The end-to-end tests on a real kube-apiserver
	KUBEBUILDER_ASSETS="$(kube_apiserver_assets)" PYROCLAST_REQUIRE_REALSERVER=1 $(BIN)/python -m pytest tests/e2e -m realserver $(PARALLEL)

.PHONY: lint
lint: $(READY)  ## Formatting and lints
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

.PHONY: types
types: $(READY)  ## mypy --strict
	$(BIN)/mypy

.PHONY: layers
layers: $(READY)  ## Imports run one way
	$(BIN)/lint-imports

.PHONY: check
check: lint types layers test  ## All of the above

.PHONY: coverage
coverage: $(READY)  ## Unit tests with a coverage figure
	$(BIN)/coverage run -m pytest -q -m 'not realserver' tests/unit tests/laws tests/contract
	$(BIN)/coverage report --skip-covered --sort=cover

.PHONY: conformance
conformance: $(READY)  ## Decisions against Volcano's decision tables, as a table
	$(BIN)/python tests/conformance/report.py

.PHONY: soak
soak: $(READY)  ## Thirty-three configurations, two hundred cycles each on a whole cluster, laws checked in every cycle
	PYROCLAST_SOAK=1 $(BIN)/python -m pytest tests/soak -n 2 -p no:logging

.PHONY: bench
bench: $(READY)  ## Benchmarks, as a table and a picture in benchmarks/results/
	$(BIN)/python -m benchmarks

.PHONY: crds
crds: $(READY)  ## Renew config/crd from the structs of model/api
	$(BIN)/python -m tools.custom_resources config/crd

.PHONY: webhooks
webhooks: $(READY)  ## Renew deploy/webhooks from controllers/admission
	$(BIN)/python -m pyroclast.controllers.admission.webhooks deploy/webhooks

.PHONY: lock
lock: $(READY)  ## Renew the requirements*.lock files, each with the hashes of all files of each version
	$(compile) --extra dev pyproject.toml --output-file requirements.lock
	$(compile) --extra emulator --constraint requirements.lock pyproject.toml --output-file requirements-image.lock
	$(compile) --group image --constraint requirements.lock --output-file requirements-build.lock

.PHONY: clean
clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage benchmarks/results
