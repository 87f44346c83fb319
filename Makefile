.PHONY: check lint format types contracts test test-data test-oracles docs serve-docs cli-docs figures-docs speed fuzz laws mutants coverage-of-intervals report screenshots snapshots clean

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

test: ## unit, law, flow and browser tests, with coverage
	pytest -q -n 2 --ignore=tests/oracles -m "not data and not install" --cov --cov-report=term-missing:skip-covered
	python -m coverage report --fail-under=100 --include="src/novarag/errors.py,src/novarag/taxonomy.py,src/novarag/records.py,src/novarag/grading.py,src/novarag/grouping.py,src/novarag/strategies/*,src/novarag/metrics/*,src/novarag/filters/*,src/novarag/uncertainty/*"

test-data: ## tests on the benchmark data
	pytest -q -n 2 --ignore=tests/oracles -m data

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

report: ## the twelve models of the shared data, one command
	novarag measure $(NOVARAG_DATA)/responses/verb_guess_probability.parquet \
	  --confidence author_confidence --unread -1 --unread 2 --unread 336 --correct judge_score \
	  --by model --title "Twelve models state a probability" --out build/report

screenshots: report ## pictures of that report for the docs
	python proof/screenshots.py build/report/report.html docs/images

clean:
	rm -rf build site .coverage coverage.xml
