# make check                              grade a bundled example that has one realistic fault
# make check PROBLEM=rope FILE=answer.py  grade a file
# make test                               all tests, with all they need: engine, image, modules
# make lint                               the source as the tools want it

PYTHON ?= python3
PROBLEM ?= paged_allocator
FILE ?= examples/$(PROBLEM).py
# What the worker's image stands on. `make test BASE=python:3.11-slim` takes one from a registry.
BASE ?= harness-base

BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --constraint requirements.lock
NEEDS := $(shell sed -n 's/^needs *= *\[\(.*\)\].*/\1/p' problems/$(PROBLEM)/problem.toml)
PARTS := $(if $(findstring triton,$(NEEDS)),torch triton,$(if $(findstring torch,$(NEEDS)),torch))

.PHONY: check test lint image

check: .venv/base $(PARTS:%=.venv/with-%)
	@$(BIN)/harness check $(PROBLEM) $(FILE)

test: .venv/all image
	$(BIN)/python -m pytest

lint: .venv/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

image: .venv/all
	@.ci/engine
	@$(BIN)/python .ci/image.py || { .ci/base $(BASE) && $(BIN)/harness image build --base $(BASE); }

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(INSTALL) --upgrade pip

.venv/base: pyproject.toml requirements.lock | .venv/bin/python
	$(INSTALL) --editable .
	@touch $@

.venv/with-%: .venv/base
	$(INSTALL) --editable '.[$*]'
	@touch $@

.venv/all: .venv/base
	$(INSTALL) --editable '.[all]' --group dev
	@touch $@
