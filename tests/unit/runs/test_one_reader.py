"""One way to read a run: a second place that checks markers or checksums fails here."""

import ast
import subprocess
import sys
from pathlib import Path

import novarag
from novarag import runs

SRC = Path(novarag.__file__).parent


def callers(*names):
    """List the files of the package that call one of these functions."""
    return {
        path.relative_to(SRC).as_posix()
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None))
        in names
    }


def test_the_marker_of_a_shard_is_unsealed_in_one_place():
    """Each of these unseals its own thing: heartbeat, manifest, marker, list of files, kept JSON."""
    assert callers("unseal") == {
        "runs/finished.py", "runs/lease.py", "runs/manifest.py", "sealed_json.py", "flows/kept.py",
        "flows/apply_gate.py",
    }  # fmt: skip
    assert callers("read_marker") == {"runs/finished.py", "runs/reader.py"}


def test_the_tables_of_a_run_are_checked_in_one_place():
    """Bytes are held against the checksums of a shard, of a noise's pools, of a filter's folder."""
    assert callers("vouches_for") == {
        "runs/finished.py", "runs/reader.py", "flows/drafts.py", "sft/filtered_trials.py",
    }  # fmt: skip
    spool = "gateway/audit/spool.py"  # its records stand alone, those of a run are linked
    assert callers("crc32") == {"checksums.py", "runs/log_frames.py", spool}


def test_a_lazy_name_is_never_a_module_too():
    """Once imported, a module of that name would stand where the function stood."""
    modules = {path.stem for path in (SRC / "runs").glob("*.py")}
    assert not modules & set(runs.__all__)
    assert sorted(runs._HOMES) == sorted(runs.__all__)
    assert all(getattr(runs, name) is not None for name in runs.__all__)


def test_clients_of_the_engine_use_its_face_alone():
    """What a run is used for needs nothing of how it is made."""
    inside = {}
    for file in SRC.rglob("*.py"):
        if file.parent != SRC / "runs":
            tree = ast.parse(file.read_text("utf-8"))
            used = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
            inside[file.name] = {m for m in used if m.startswith("novarag.runs.")}
    assert len(inside) > 150
    assert not {name: found for name, found in inside.items() if found}


def test_naming_the_face_imports_no_table_library():
    asks = "import sys, novarag.runs; sys.exit(any(m in sys.modules for m in ('polars', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", asks], check=False).returncode == 0
