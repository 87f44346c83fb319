"""The list of what must be covered whole names what there is."""

import importlib.util

import pytest

from tools import core_coverage

MEASURED = {
    "/site-packages/novarag/errors.py": "novarag.errors",
    "src/novarag/metrics/__init__.py": "novarag.metrics",
    "src/novarag/metrics/ranks.py": "novarag.metrics.ranks",
    "src/novarag/metrics_of_others.py": "novarag.metrics_of_others",
}


def test_files_are_named_by_module_wherever_they_are_installed():
    assert {file: core_coverage.module_of(file) for file in MEASURED} == MEASURED
    clone = "/clones/novarag/src/novarag/errors.py"
    assert core_coverage.module_of(clone) == "novarag.errors"


def test_a_package_is_all_that_is_in_it_and_nothing_else():
    found = core_coverage.files_of("novarag.metrics", MEASURED)
    assert found == ["src/novarag/metrics/__init__.py", "src/novarag/metrics/ranks.py"]
    assert core_coverage.files_of("novarag.gone", MEASURED) == []


@pytest.mark.parametrize("name", core_coverage.CORE)
def test_every_name_of_the_core_is_a_module(name):
    assert importlib.util.find_spec(name) is not None


def test_a_name_that_nothing_measured_answers_to_is_an_error(monkeypatch, tmp_path):
    from coverage import CoverageData

    monkeypatch.chdir(tmp_path)
    data = CoverageData(str(tmp_path / ".coverage"))
    data.add_lines({str(tmp_path / "novarag" / "errors.py"): [1]})
    data.write()
    with pytest.raises(SystemExit, match=r"not measured: .*novarag\.calls"):
        core_coverage.main()
