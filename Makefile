# make demo: see a model learn. make demo-hack: see a reward being hacked, and the alarm.
# make test: everything CI runs. make quick: the test files that changes touched since make quick last ran them. make slow: the checks that take minutes, and properties at random; it prints its seed, make slow SEED=n repeats it.
# make browser: the studio in a real browser, Chromium; skipped where there is none.
# make peers: what compares with TRL, verifiers, verl and stable-baselines3, in an environment of its own, .venv-peers.
# make bench: a GRPO step against TRL's, on this processor. make format: mend what a machine can mend.
# make hooks: run the checks of .pre-commit-config.yaml at every commit. make check-files: run them now, over every file.
# make kernels: the GPU kernels' tests, in Triton's interpreter where there is no GPU.
# make messages: writes tests/messages.txt, the sentences of the refusals that tests provoke.
# make docs: the docs site, built into site/; what is broken or undocumented ends it. make docs-serve: the same, live.
# make pages: the numbers in docs/evidence, docs/promises.md, the tables of docs/check_a_reward.md, and what docs/notebooks show.
# make sample: makes a sample of the package's evidence again, as far as this kind of machine made it.
# make promises: every test of tests/promises, the slow ones too, with counts of how often each was tried.
PY ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS ?= .venv-peers
FORKS ?= 3 # processes of tests: one more than CI has cores, since tests wait for boxes, servers and disks

.PHONY: test lint types suite quick browser slow peers sample messages promises demo demo-hack bench kernels format hooks check-files docs docs-serve pages clean

test: lint
	$(MAKE) --no-print-directory -j2 --output-sync=target types suite # together: types take one core, and half a minute where nothing is cached

$(VENV)/.installed: pyproject.toml requirements/dev.txt requirements/dev_bare.txt
	test -x $(BIN)/python || $(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/dev_bare.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy $(MYPY)

suite: $(VENV)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --forks $(FORKS) -q # bytecode kept: compiling every test takes a quarter of a minute; a thread each: two that use every core wait for each other

quick: $(VENV)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quick --forks $(FORKS) -q

browser: $(VENV)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --forks $(FORKS) -q -m "browser and not slow" tests/studio

slow: $(VENV)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest --forks $(FORKS) -q --tb=native -m "slow or hypothesis" --hypothesis-profile thorough $(if $(SEED),--hypothesis-seed=$(SEED))

peers: $(PEERS)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PEERS)/bin/python -m pytest --forks $(FORKS) -q -m peers -k "not much" tests # twelve greedy answers of a real model, of fifty: those take four times as long
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 PYTHONPATH=$(PEERS)/older $(PEERS)/bin/python -m pytest -q -m peers tests/bridges -k verifiers

$(PEERS)/.installed: pyproject.toml requirements/dev.txt requirements/peers.txt requirements/peers_bare.txt requirements/peers_older.txt
	test -x $(PEERS)/bin/python || $(PY) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/peers_bare.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(PEERS)/older -r requirements/peers_older.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

sample: $(VENV)/.installed
	$(BIN)/guerdon prove --all --sample --out guerdon/evidence

messages: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python tests/refusals.py

promises: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m "slow or not slow" --record tests/promises
	$(BIN)/python scripts/document_promises.py

# Needs no test tools: the package alone, with the versions it is tested with.
demo: $(VENV)/.demo
	$(BIN)/guerdon demo

demo-hack: $(VENV)/.demo
	$(BIN)/guerdon demo --hack

$(VENV)/.demo: pyproject.toml requirements/dev.txt
	test -x $(BIN)/python || $(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/dev.txt -e .
	touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m bench.grpo_step --config cpu --rounds 3 --steps 4

$(VENV)/.bench: $(VENV)/.installed requirements/bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/bench.txt
	touch $@

kernels: $(VENV)/.kernels
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/models/test_kernels.py tests/models/test_kernel_contract.py \
		tests/models/test_pick.py tests/models/test_steady_matmul.py tests/models/test_run_attention.py tests/models/test_gpu_gradients.py \
		tests/engine/test_cuda_decoding.py tests/engine/test_gpu_exact.py

$(VENV)/.kernels: $(VENV)/.installed requirements/kernels.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/kernels.txt
	touch $@

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

hooks: $(VENV)/.installed
	$(BIN)/pre-commit install

check-files: $(VENV)/.installed
	$(BIN)/pre-commit run --all-files

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# Needs no test tools: the package with the extras whose parts have pages, and what builds the site.
$(VENV)/.docs: pyproject.toml requirements/dev.txt requirements/docs.txt
	test -x $(BIN)/python || $(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/dev.txt -e '.[games,gguf,gym,hub,json,maths,remote,sql,studies,studio]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/dev.txt -r requirements/docs.txt ruff
	touch $@

pages: $(VENV)/.installed
	$(BIN)/python scripts/document_families.py
	$(BIN)/python scripts/document_promises.py
	$(BIN)/python scripts/document_check.py
	$(BIN)/python scripts/document_gallery.py
	$(BIN)/python scripts/document_usable.py
	$(BIN)/python scripts/document_methods.py
	$(BIN)/python scripts/run_notebook.py docs/notebooks/*.ipynb

clean:
	rm -rf $(VENV) $(PEERS) runs build dist site *.egg-info
