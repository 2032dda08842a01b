# Everything happens in .venv; a fresh machine needs Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
# Without a GPU, a plain `torch` would download gigabytes of CUDA libraries.
CONSTRAINTS := $(if $(shell command -v nvidia-smi 2>/dev/null),,-c constraints-cpu.txt)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: quickstart test test-long browser picture clean

quickstart: .venv/installed  ## install, train the first model, say where the results are
	$(BIN)/ebmkit run specs/quickstart.yaml

test: .venv/installed-dev browser  ## what CI runs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 -m "not long"

test-long: .venv/installed-dev  ## minutes rather than seconds: hundreds of kills, twenty seeds of the quickstart, ...
	$(BIN)/pytest -n 2 -m long

browser:  ## the report is opened in Chromium; where it cannot be installed those tests are skipped
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium >/dev/null; } \
	  || echo "no Chromium here: tests/browser will be skipped"

picture: .venv/installed  ## the picture in the README
	$(BIN)/ebmkit run specs/quickstart.yaml --quiet | xargs -I FOLDER cp FOLDER/plots/summary.png docs/quickstart.png

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml constraints-cpu.txt | .venv/bin/python
	$(PIP) $(CONSTRAINTS) -e .
	touch $@

.venv/installed-dev: pyproject.toml constraints-cpu.txt | .venv/bin/python
	$(PIP) $(CONSTRAINTS) -e ".[dev]"
	touch $@ .venv/installed

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
