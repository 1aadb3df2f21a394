# `make` prints this help. Every target sets up what it needs; nothing has to be run first.
.DEFAULT_GOAL := help
SHELL := bash
# Tests and benchmarks start hundreds of interpreters: without cached bytecode each would compile our sources anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Twice quiet: errors are told, but not what each of several package indexes does not have.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
PROJECTS := sdk compat agent testing services/common services/registry services/scheduler services/telemetry services/console services/simulator services/embedded
# Built by `make dist` beside them, and installed into an environment of its own by `mosaic workers install reference`.
PUBLISHED_WORKERS := worker-images/reference

VERSION := 0.1.0
REVISION := $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
DOCKERFILES := $(wildcard services/*/Dockerfile worker-images/Dockerfile worker-images/*/Dockerfile compose/Dockerfile)
# An image that holds wheels which the index does not have or which cost much to fetch; taken where it exists.
WHEELS ?= $(shell docker image inspect --format local/wheels local/wheels 2>/dev/null || echo scratch)
# One build at a time: two libraries at once need more memory and network than most machines have to spare.
COMPOSE = COMPOSE_PARALLEL_LIMIT=1 DOCKER_BUILDKIT=1 MOSAIC_VERSION=$(VERSION) MOSAIC_REVISION=$(REVISION) WHEELS=$(WHEELS) docker compose \
  $(if $(filter cuda,$(TORCH_VARIANT)),-f docker-compose.yml -f docker-compose.gpu.yml)

.PHONY: help setup check fmt lint type imports unit contract integration faults test test-workers test-browser test-containers images image-lint image-locks image-labels sbom up down smoke demo dist house lock proto docs bench clean

help:  ## Print this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-18s %s\n", $$1, $$2}'

$(STAMP): requirements.lock requirements.oracle $(addsuffix /pyproject.toml,$(PROJECTS))
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: install it, or name it with make PYTHON=/path/to/python"; exit 1; }
	@echo "Setting up $(VENV) (about a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) -r requirements.lock
	@$(PIP_INSTALL) --no-deps -r requirements.oracle
	@$(PIP_INSTALL) --no-deps --no-build-isolation $(addprefix -e ./,$(PROJECTS))
	@touch $@

setup: $(STAMP)  ## Make .venv with the mosaic command and every tool in it
	@echo "Ready. Next:"
	@echo "  source $(BIN)/activate"
	@echo "  mosaic workers install reference     # or cleanrl, xuance, rllib, sb3"
	@echo "  mosaic up -d                         # in the background; mosaic down ends it"
	@echo "  mosaic submit reference --follow"

check: lint type imports  ## Lint, format, types, import rules, unit and contract tests
	@$(BIN)/pytest -q -n 2 tests/unit tests/contract

fmt: $(STAMP)  ## Format the code and fix what can be fixed by a machine
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .

lint: $(STAMP)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .

type: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports > .import_linter.log 2>&1 || { cat .import_linter.log; exit 1; }

unit: $(STAMP)  ## Unit tests: no network, no disk to speak of, seconds
	@$(BIN)/pytest -q -n 2 tests/unit

contract: $(STAMP)  ## One behaviour, every implementation; generated files are fresh
	@$(BIN)/pytest -q tests/contract

integration: $(STAMP)  ## Real RabbitMQ, PostgreSQL, Redis and child processes
	@$(BIN)/pytest -q -n 2 --dist loadfile tests/integration tests/e2e

faults: $(STAMP)  ## Kill everything at random times; nothing may be lost or counted twice
	@$(BIN)/pytest -q tests/faults

test: check integration faults  ## All tests of the platform; says which suites it leaves out
	@echo "Not run here: tests/workers (make test-workers), tests/browser (make test-browser) and tests/containers (make test-containers)."
	@docker info >/dev/null 2>&1 || echo "The last needs a Docker engine, and none answers now."

test-workers: $(STAMP)  ## Really train with every library, each in its own environment (slow)
	@$(BIN)/pytest -q -n 2 --dist loadfile --timeout 1800 tests/workers

test-containers: $(STAMP)  ## Build the images and run the platform in containers: kill, pause, cut off, restart, train
	@tests/containers/engine.sh
	@$(MAKE) --no-print-directory images
	@$(BIN)/pytest -q tests/containers; status=$$?; $(BIN)/python -m mosaic.testing.containers; exit $$status

$(VENV)/.browser: $(STAMP) requirements.browser
	@$(PIP_INSTALL) --no-deps -r requirements.browser
	@touch $@

test-browser: $(VENV)/.browser  ## The console in a real browser, as a person uses it; needs chromium, and installs it where root
	@tests/browser/chromium.sh
	@$(BIN)/pytest -q --timeout 150 tests/browser

images:  ## Build every image and print the sizes; IMAGES="agent-rllib" builds one, TORCH_VARIANT=cuda builds for GPUs
	@DOCKER_BUILDKIT=1 docker build --quiet --build-arg REVISION=$(REVISION) -f worker-images/base/Dockerfile -t mosaic-fleet/base:$(VERSION) . >/dev/null
	@$(COMPOSE) --profile '*' build --quiet $(IMAGES)
	@docker images --filter 'reference=mosaic-fleet/*:$(VERSION)*' --format 'table {{.Repository}}:{{.Tag}}\t{{.Size}}'

image-lint: $(STAMP)  ## Lint the Dockerfiles and parse the compose files
	@$(BIN)/hadolint $(DOCKERFILES)
	@$(BIN)/pytest -q tests/contract/test_images.py tests/contract/test_compose.py

image-locks: $(STAMP)  ## Write the lock of every image: exact versions with hashes
	@$(BIN)/python worker-images/base/lock.py

image-labels: $(STAMP)  ## Write on every worker image who its worker is
	@$(BIN)/python worker-images/base/labels.py

sbom:  ## List what is in every image, as CycloneDX, in build/sbom
	@mkdir -p build/sbom
	@for image in $$(docker images --filter 'reference=mosaic-fleet/*:$(VERSION)' --format '{{.Repository}}'); do \
	  $(PYTHON) worker-images/base/sbom.py $$image:$(VERSION) > build/sbom/$${image#*/}.cdx.json || exit 1; \
	  echo "build/sbom/$${image#*/}.cdx.json"; done

up:  ## Start the platform with docker compose; PROFILES="cleanrl rllib" adds libraries
	@$(COMPOSE) $(addprefix --profile ,$(PROFILES)) up -d --build --wait

down:  ## Stop what `make up` started and remove it with its data; KEEP=1 keeps the data
	@$(COMPOSE) --profile '*' down --remove-orphans $(if $(KEEP),,--volumes)

smoke: $(STAMP)  ## Send a run through the running stack and read its manifest
	@MOSAIC_URL=http://127.0.0.1:$${MOSAIC_CONSOLE_PORT:-7420} MOSAIC_TOKEN=$$($(COMPOSE) exec -T registry cat /run/secrets/admin-token) $(BIN)/python compose/smoke.py

demo: $(STAMP)  ## Train something and see it learn: services, a worker, a curve, a manifest
	@$(BIN)/mosaic demo

dist: $(STAMP)  ## Build a wheel of every distribution into build/dist
	@rm -rf build/dist build/source && mkdir -p build/source
	@tar cf - --exclude=build --exclude='*.egg-info' --exclude=__pycache__ $(PROJECTS) $(PUBLISHED_WORKERS) | tar xf - -C build/source
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/dist \
	  $(addprefix ./build/source/,$(PROJECTS) $(PUBLISHED_WORKERS))
	@rm -rf build/source && ls build/dist

lock:  ## Pin the newest versions that fit, in requirements.lock
	@rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/pip install --quiet --quiet -r requirements.in $(addprefix -e ./,$(PROJECTS)) "mosaic-sdk[events,wire,client,cli,export,statistics]" "mosaic-hosting[messaging,services]" "mosaic-testing[containers]"
	@{ head -1 requirements.lock; $(VENV)-lock/bin/pip freeze --all --exclude-editable --exclude pip; } > requirements.new
	@mv requirements.new requirements.lock && rm -rf $(VENV)-lock

proto: $(STAMP)  ## Generate the gRPC code from proto/
	@$(BIN)/python -m grpc_tools.protoc -I proto --python_out=sdk/src --pyi_out=sdk/src --grpc_python_out=sdk/src proto/mosaic/wire/v1/*.proto

docs: $(STAMP)  ## Write the generated pages of docs/reference
	@$(BIN)/python docs/generate.py

house: $(STAMP)  ## Count files, lines, the way of a run and its representations; ends with 1 if a wanted value is missed
	@$(BIN)/python docs/house.py

bench: $(STAMP)  ## Every benchmark in one table; `make bench-NAME` runs one and ends with one JSON line
	@$(BIN)/python -m bench.all

bench-%: $(STAMP)
	@$(BIN)/python -m bench.$*

clean:  ## Remove what setup made
	@rm -rf $(VENV) .import_linter.log .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
