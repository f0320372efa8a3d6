# Everything from an empty machine: Python 3.11 with venv is all that must be there.

PYTHON_OF_VENV := .venv/bin/python
# What is tried a second time, over PostgreSQL: what asks the databases something. The store's own tests have
# both databases in every run, and servers of several processes have PostgreSQL in any.
files_of = $(foreach name,$(2),tests/$(1)/test_$(name).py)
ON_POSTGRESQL := $(call files_of,accounts,gate limits) \
	$(call files_of,api,bad_input counted credentials fuzz health receipts scenarios server situations) \
	$(call files_of,api,trial_agents trial_limits trials) \
	$(call files_of,identity,key_cache keys nonces signers trials) tests/ledger \
	$(call files_of,live,admission agreement deadlocks ended_rights messages server) \
	$(call files_of,mcp,calls contention credentials) tests/platform/test_admin_plans.py \
	tests/store/test_outbox.py tests/workspaces --ignore=tests/workspaces/test_names.py

# Tests wait for servers and browsers most of the time, so two processes share two cores. A file stays in one
# process, and files begin in the order that tests/plugin.py gives them: the long ones first.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help run test prove check coverage lint-js bench bench-quick conformance environment services lock messages \
	bundles

help: ## say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile

run: ## set everything up, then serve http://127.0.0.1:8000
	@.ci/environment requirements.lock
	@$(PYTHON_OF_VENV) manage.py bootstrap
	@exec $(PYTHON_OF_VENV) manage.py serve

test: environment ## the whole suite, on PostgreSQL and on SQLite
	@$(MAKE) --no-print-directory --jobs=2 services check
	$(PYTHON_OF_VENV) -m pytest $(SIDE_BY_SIDE) --database=postgresql $(ON_POSTGRESQL)
	$(PYTHON_OF_VENV) -m pytest $(SIDE_BY_SIDE)

prove: environment ## the long runs: kills, histories, models; MINUTES=… for all of them together
	$(PYTHON_OF_VENV) -m tests.prove $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(PARTS)

check: environment ## style, types and import rules; style and types of the browser code where npm is installed
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	$(PYTHON_OF_VENV) -m mypy
	.venv/bin/lint-imports --no-cache
	$(PYTHON_OF_VENV) -m tests.lint_js --if-possible

lint-js: environment ## style and types of the browser code, with Node and npm
	$(PYTHON_OF_VENV) -m tests.lint_js

# No part of `test`: a traced program is slower, and calls are counted wrongly in it.
coverage: environment services ## which lines and branches the tests run, on SQLite
	.venv/bin/coverage erase
	-.venv/bin/coverage run -m pytest $(SIDE_BY_SIDE)
	.venv/bin/coverage combine --quiet
	.venv/bin/coverage report

bench: environment ## the benchmarks, against the peers that are installed
	$(PYTHON_OF_VENV) -m tests.bench

bench-quick: environment ## the benchmarks in a minute, for a first look
	$(PYTHON_OF_VENV) -m tests.bench --quick

conformance: environment ## the MCP suite and inspector, with Node from npm
	$(PYTHON_OF_VENV) -m tests.mcp.conformance

environment: ## .venv as requirements-dev.lock has it
	@.ci/environment

services: ## the programs that the tests need
	@.ci/services

# uv keeps the versions of the file that it writes, so the second file has those of the first.
LOCK := .venv/bin/uv pip compile pyproject.toml --universal --generate-hashes --python-version 3.11 \
	--no-header --quiet

lock: environment ## requirements-dev.lock and requirements.lock anew from pyproject.toml
	$(LOCK) --group dev --output-file requirements-dev.lock
	cp requirements-dev.lock requirements.lock
	$(LOCK) --output-file requirements.lock

bundles: environment ## other people's JavaScript for the pages, with Node and npm
	@$(PYTHON_OF_VENV) -m tests.bundles

messages: environment ## the catalogue of English in line with the code
	@$(PYTHON_OF_VENV) -m tests.messages
