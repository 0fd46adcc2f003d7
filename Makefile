# make run    the app on the bundled pair          make test   the whole test suite
# make check  format, lint, types, import table    make bench  the engine's timings, as ratios, in under 10 minutes
# make bench-app  the app's own speed: first paint, Run, server time, messages, memory (needs a Chromium)
# make smollm2  a real GGUF (93 MB are fetched), decoded without a second model and compared with plain decoding
# make examples  the example runs decoded anew; on a machine that does nothing else, for their times
# make lock   requirements.lock and docs/licences.md anew      make sbom   sbom.json, the parts of the default install
# make image-check  the Dockerfile's steps in a clean root, and the app started there (root, Debian, debootstrap)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test check bench bench-app smollm2 examples lock licences sbom image-check

run: .venv/run.stamp
	$(BIN)/streamlit run app.py --server.address=localhost

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

bench: .venv/dev.stamp
	@begin=$$(date +%s); failed=0; \
	for part in peers limit batch growth; do \
		echo "== python -m benchmarks.$$part"; \
		$(BIN)/python -m benchmarks.$$part || failed=1; \
	done; \
	echo "== $$(($$(date +%s) - begin)) s in all"; exit $$failed

bench-app: .venv/dev.stamp
	$(BIN)/python -m benchmarks.app

smollm2: .venv/dev.stamp
	$(BIN)/python -m benchmarks.smollm2

examples: .venv/run.stamp
	$(BIN)/python -m specviz.examples

lock: .venv/dev.stamp
	$(BIN)/python -m release.lock
	$(BIN)/python -m release.licences

licences: .venv/dev.stamp
	$(BIN)/python -m release.licences

sbom: .venv/dev.stamp
	$(PYTHON) -m venv --clear --without-pip build/sbom
	$(BIN)/python -m pip --python build/sbom install -q --require-hashes -r requirements.lock
	$(BIN)/python -m pip --python build/sbom install -q -r requirements.txt
	$(BIN)/uvx -q --from cyclonedx-bom==7.5.0 cyclonedx-py environment --pyproject pyproject.toml -o sbom.json build/sbom
	rm -r build/sbom

image-check:
	$(PYTHON) -m release.image

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "specviz needs Python 3.11 to 3.13: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; echo "python3-venv is missing: install it, then run make again"; exit 1; }

# The lock first, with its hashes. Then torch, which it leaves out, by its pin.
.venv/run.stamp: requirements.txt requirements.lock | .venv/bin/python
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements.txt
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements-dev.txt
	touch $@
