# The two commands: `make run` shows the main job, `make test` proves it. Both set up what they need.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
# The Glue version whose Spark runs; each has a Python environment, pins and JARs of its own.
ENGINE ?= glue-5.1
ifeq ($(ENGINE),glue-5.1)
VENV   := .venv
PINS   := constraints.txt
else ifeq ($(ENGINE),glue-6.0)
VENV   := .cache/glue-6.0
PINS   := constraints-glue-6.0.txt
else
$(error ENGINE=$(ENGINE) is not known; there are glue-5.1 and glue-6.0)
endif
PY     := $(VENV)/bin/python
JARS   := .cache/jars/$(ENGINE)
DESCRIPTOR ?= domains/fraud/pipelines/transactions_scored.yml

# Commands of the virtual environment come first, so that spark-submit finds its Python.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
unexport PYTHONPATH SPARK_HOME

.PHONY: help run up down drift artefact adapter publish deploy-local glue-run test test-full test-glue-6.0 test-spark tf-test kill-trials benchmark check lint types setup checkov qedro airflow dbt glue-6.0 lock clean
.DEFAULT_GOAL := help

help: ## What there is
	@grep -hE '^[a-z0-9.-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.installed $(JARS)/.fetched ## Set up the virtual environment and the JARs

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	@echo "setting up $(@D) (a few minutes, once)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[run,sandbox,dev]'
	@touch $@

.cache/glue-6.0/.installed: pyproject.toml constraints-glue-6.0.txt
	@for python in "$(GLUE_6_PYTHON)" python3.13 $(PYTHON) "$$(pyenv root 2>/dev/null)"/versions/3.13.*/bin/python3; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null || continue; \
	  echo "setting up $(@D) (a few minutes, once)"; \
	  "$$python" -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
	    -c constraints-glue-6.0.txt -e '.[run-glue-6-0,sandbox,dev]' && touch $@; \
	  exit; \
	done; echo "Glue 6.0 runs on Python 3.13, and there is none here; install it, or set GLUE_6_PYTHON=…" >&2; exit 1

$(JARS)/.fetched: sandbox/jars/ivy-$(ENGINE).xml $(VENV)/.installed
	@$(PY) -m sandbox.jars.fetch --into $(JARS)
	@touch $@

run: up ## Run the main job: DESCRIPTOR=… chooses another, ENGINE=glue-6.0 the other Glue version
	@$(PY) -m sandbox.submit $(DESCRIPTOR)

up: setup ## Start the stand-in for AWS with a sample lake
	@$(PY) -m sandbox.stack up

down: ## Stop it and forget its data
	@for python in $(PY) .venv/bin/python .cache/glue-6.0/bin/python; do \
	  if [ -x $$python ]; then exec $$python -m sandbox.stack down; fi; \
	done

drift: up ## A new column arrives at the source: the run stops before it reads
	@$(PY) -m sandbox.stack drift
	@$(PY) -m sandbox.submit $(DESCRIPTOR); code=$$?; $(PY) -m sandbox.stack undrift; exit $$code

artefact: setup ## Build the executor's release: zip, script, wheel, wheel archives, JARs, manifest
	@$(PY) -m artefact build

adapter: setup ## Build the zip of the lineage adapter's Lambda functions
	@$(PY) -m artefact adapter

publish: setup ## Put the release under DESTINATION=s3://bucket/prefix; never over another
	@$(PY) -m artefact publish $(or $(DESTINATION),$(error set DESTINATION=s3://bucket/prefix))

deploy-local: setup ## Deploy terraform/live to a stand-in of its own; ALLOW_DIRTY=1 where the checkout is no commit
	@$(PY) -m sandbox.deploy.local up $(if $(ALLOW_DIRTY),--allow-dirty)

glue-run: setup ## Run a deployed job here, as Glue would: JOB=<name>, ACCOUNT=<12 digits> where it is another's
	@$(PY) -m sandbox.glue_run $(or $(JOB),$(error set JOB=<name>)) $(if $(ACCOUNT),--account $(ACCOUNT))

test: setup ## Everything but the long proofs: first what needs no engine, in two processes, then the rest
	@$(PY) -m pytest -q -n 2 --dist loadgroup -m "not (spark or slow or terraform)"
	@$(PY) -m pytest -q -m "(spark or terraform) and not slow"

test-full: setup checkov qedro airflow dbt glue-6.0 ## The long proofs too
	@$(PY) -m pytest -q
	@$(MAKE) --no-print-directory test-glue-6.0

test-glue-6.0: ## The end-to-end tests on Glue 6.0's Spark, Python and JARs
	@$(MAKE) --no-print-directory ENGINE=glue-6.0 test-spark

test-spark: setup ## The end-to-end tests on ENGINE's
	@$(PY) -m pytest -q -m "spark and not slow" $(addprefix tests/,engine lineage quality readers run steps writers)

tf-test: setup checkov ## The Terraform modules: format, validity, their own tests, checkov, and each example applied
	@$(PY) -m pytest -q -n 2 --dist loadfile $(addprefix tests/terraform/test_terraform_,examples.py modules.py checkov.py freshness.py)

kill-trials: setup ## kill -9 of the driver at random moments: KILL_TRIALS=25 of each kind, KILL_SEED=… repeats
	@$(PY) -m pytest -q -p no:cacheprovider tests/run/test_run_killed.py

benchmark: setup ## The executor against the hand-written job: ROWS=… PAIRS=…
	@$(PY) -m benchmarks.overhead --rows $(or $(ROWS),1000000) --pairs $(or $(PAIRS),3)

check: setup lint types ## The inner loop: lint, types, fast tests
	@$(PY) -m pytest -q -n 2 --dist loadgroup -m "not (spark or slow or terraform or lengthy)"

checkov: .cache/checkov/.installed ## Set up the public scanner that judges the Terraform modules

.cache/checkov/.installed: tests/terraform/checkov-requirements.txt
	@$(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

qedro: .cache/qedro/.installed ## Set up the public tool that a long proof reads our events with

.cache/qedro/.installed: tests/evidence/qedro-requirements.txt
	@for python in "$(QEDRO_PYTHON)" python3.14 python3.13 python3.12 $(PYTHON) \
	    "$$(pyenv root 2>/dev/null)"/versions/3.1[2-9]*/bin/python3; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue; \
	  "$$python" -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@; \
	  exit; \
	done; echo "qedro needs Python 3.12 or newer; set QEDRO_PYTHON=…" >&2; exit 1

airflow: .cache/airflow/.installed ## Set up Airflow, as MWAA runs it, for the proofs of the DAGs

.cache/airflow/.installed: docs/airflow/constraints.txt
	@for python in "$(AIRFLOW_PYTHON)" python3.12 $(PYTHON) "$$(pyenv root 2>/dev/null)"/versions/3.12.*/bin/python3; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null || continue; \
	  echo "setting up $(@D) (a few minutes, once)"; \
	  "$$python" -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@; \
	  exit; \
	done; echo "Airflow on MWAA needs Python 3.12; set AIRFLOW_PYTHON=…" >&2; exit 1

dbt: .cache/dbt/.installed ## Set up dbt and dbt-ol, for the proof that their lineage and ours meet

.cache/dbt/.installed: tests/emitters/dbt-requirements.txt
	@for python in "$(DBT_PYTHON)" python3.12 python3.13 $(PYTHON) "$$(pyenv root 2>/dev/null)"/versions/3.1[1-3].*/bin/python3; do \
	  "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue; \
	  "$$python" -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< && touch $@; \
	  exit; \
	done; echo "dbt needs Python 3.11 to 3.13; set DBT_PYTHON=…" >&2; exit 1

glue-6.0: ## Set up Glue 6.0's environment and JARs, for ENGINE=glue-6.0
	@$(MAKE) --no-print-directory ENGINE=glue-6.0 setup

lint: setup
	@$(VENV)/bin/ruff format --check --quiet . && $(VENV)/bin/ruff check --quiet .

types: setup
	@$(VENV)/bin/mypy

lock: ## Pin what our dependencies depend on
	@$(PY) -m pip freeze --exclude-editable | grep -v '^pipeline-runtime' > $(PINS)

clean: down ## Remove everything that was set up
	@rm -rf .venv .cache .sandbox build dist *.egg-info
