# Carillon. `make` lists the targets; each line's comment is its help.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SETUP  := $(VENV)/.ready
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
export CDK_DISABLE_CLI_TELEMETRY := true
STAGES := local dev prod small spike
SOURCES := layers/core/python cli functions infra tests bench

.DEFAULT_GOAL := help
.PHONY: help setup lock docs format lint types imports test unit e2e synth check demo smoke bench-time bench-cost bench-dispatch bench-worker bench-imports bench-api scale fuzz-time simulate simulate-ci chaos spike isolation outage deploy destroy clean

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(SETUP) ## Install everything that the project needs, from its lock files
$(SETUP): requirements/dev.lock package-lock.json pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Carillon needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check "uv==$$(sed -n 's/^uv==\([^ ]*\).*/\1/p' requirements/dev.lock)"
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	npm ci --no-audit --no-fund --loglevel=error
	@touch $(SETUP)

lock: ## Resolve what pyproject.toml asks for into the lock files; what is locked stays: make lock UPGRADE=--upgrade
	$(BIN)/uv pip compile --quiet $(UPGRADE) pyproject.toml --all-extras --universal --generate-hashes --no-annotate --custom-compile-command "make lock" --output-file requirements/dev.lock
	$(BIN)/uv pip compile --quiet pyproject.toml --constraints requirements/dev.lock --universal --generate-hashes --no-annotate --custom-compile-command "make lock" --output-file requirements/layer.lock

format: $(SETUP) ## Format the code
	ruff format $(SOURCES)
	ruff check --fix --quiet $(SOURCES) || true

docs: $(SETUP) ## Make the parts of the pages anew that are made from the code
	PYTHONPATH=tests python -m tests.unit.docs.reference

lint: $(SETUP) ## Check format and lint
	ruff format --check $(SOURCES)
	ruff check $(SOURCES)

types: $(SETUP) ## Check types
	mypy

imports: $(SETUP) ## Check that imports point inwards only
	lint-imports

unit: $(SETUP) ## Run the tests that need no local AWS
	pytest -n auto -m "not e2e" -q

e2e: $(SETUP) ## Run the tests against the deployed local stack
	pytest -n 2 --dist loadfile --no-loadscope-reorder -m e2e -q

test: unit e2e ## Set up and run all tests

synth: $(SETUP) ## Synthesise every stage, checked by cdk-nag
	@for stage in $(STAGES); do echo "synth $$stage"; cdk synth --quiet -c stage=$$stage --output build/cdk.out/$$stage || exit 1; done

check: lint types imports test synth ## What CI runs

demo: $(SETUP) ## Local AWS, deploy, jobs that fire; stays up until Ctrl-C
	carillon demo

smoke: $(SETUP) ## The same without staying: fails unless the callbacks came, verified and recorded
	carillon smoke

bench-time: $(SETUP) ## Measure the next occurrence of a schedule, beside croniter and cronsim
	python bench/time_bench.py

bench-cost: $(SETUP) ## Count the DynamoDB units and SQS requests of runs
	python -m bench.cost_bench

bench-api: $(SETUP) ## Count what the API takes of a tenant with 50,000 jobs: make bench-api JOBS=2000
	python -m bench.api_bench --jobs $(or $(JOBS),50000)

bench-imports: $(SETUP) ## Time the cold import of each handler, beside botocore
	python -m bench.import_bench

fuzz-time: $(SETUP) ## Compare 100,000 random questions about time with two other calendars: make fuzz-time SEED=7
	python -m tests.unit.domain.time.oracles 50000 $(SEED)

scale: $(SETUP) ## Model a spike, an outage and a steady load at a size that no laptop has: docs/scale.md
	python -m bench.scale

bench-dispatch: $(SETUP) ## Measure the dispatcher's processor time beside the bare AWS calls
	python -m bench.dispatch_bench

bench-worker: $(SETUP) ## Measure the worker's processor time and memory a callback, beside requests and aiohttp
	python -m bench.worker_bench

simulate: $(SETUP) ## Run 10,000 seeds of the simulation, and look for the seeds that catch the planted bugs
	python -m tests.simulation.run --seeds 10000 --workers 2

simulate-ci: $(SETUP) ## The same with a fixed set of seeds: a minute
	python -m tests.simulation.run --seeds 400 --workers 2 --known

chaos: $(SETUP) ## Fault the AWS calls of the deployed local stack and kill its functions: make chaos SECONDS=60 SEED=7
	python -m tests.chaos.run --seconds $(or $(SECONDS),300) $(if $(SEED),--seed $(SEED)) $(if $(PLANTED),--planted $(PLANTED))

spike: $(SETUP) ## Let 2,000 jobs be due in the same second on the local stack: make spike JOBS=300
	python -m bench.spike_bench --jobs $(or $(JOBS),2000)

isolation: $(SETUP) ## Let one tenant's endpoints hang and refuse on the local stack, and report others' lateness: make isolation NOISY=200
	python -m bench.isolation_bench --noisy $(or $(NOISY),1000)

outage: $(SETUP) ## Take a local stack's dispatcher away for half an hour and show what becomes of its jobs: make outage MINUTES=5
	python -m tests.e2e.outage --minutes $(or $(MINUTES),30)

deploy: $(SETUP) ## Deploy into the AWS account of the current credentials: make deploy STAGE=dev
	cdk deploy -c stage=$(or $(STAGE),dev)

destroy: $(SETUP) ## Remove a deployed stage: make destroy STAGE=dev
	cdk destroy -c stage=$(or $(STAGE),dev)

clean: ## Remove what was built
	rm -rf build cdk.out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
