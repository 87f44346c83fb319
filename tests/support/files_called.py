"""Through how many files of `src` a call goes: those of which a function is called on the way.

Counted on the second of two calls, with `sys.setprofile`, so that imports do not count. Functions
that a file only defines, and records that only hold values, do not count either.
Usage: python -m tests.support.files_called
"""

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import novarag
from novarag import calibrate
from novarag.flows.answerer import make_group
from novarag.records import Completion
from novarag.scoring import Exchange, Scorer
from novarag.strategies import NOVA

SOURCE_FOLDER = Path(novarag.__file__).parent
REPLY = """Step 1: Passage 1 says when.
Passage Classifications:
1. Passage 1: Highly Relevant
2. Passage 2: Irrelevant
Group Judgment: The passage group is consistent.
Final Answer: 1871
Confidence: 90%"""


def files_called(call: Callable[[], object]) -> list[str]:
    """Name the files under `src/novarag` whose functions a call calls."""
    call()
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            found.add(Path(frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(
        file.relative_to(SOURCE_FOLDER).as_posix()
        for file in found
        if SOURCE_FOLDER in file.parents
    )


def of_calibrating(folder: Path) -> list[str]:
    """Name the files from a CSV file to a fitted calibration."""
    rng, path = Random(7), folder / "answers.csv"
    stated = [rng.randrange(1, 20) / 20 for _ in range(300)]
    rows = [f"q{i},{share},{int(rng.random() < share)}" for i, share in enumerate(stated)]
    path.write_text("\n".join(["question,confidence,correct", *rows]) + "\n")
    return files_called(lambda: calibrate(path))


def of_scoring() -> list[str]:
    """Name the files from a reply to a decision."""
    group = make_group("When was it lit?", ["It was lit in 1871.", "Bread is baked."])
    exchange = Exchange(group=group, completion=Completion(text=REPLY, model="m"))
    scorer = Scorer(NOVA)
    return files_called(lambda: scorer.score(exchange))


def main() -> None:
    """Print both counts, and the files."""
    with TemporaryDirectory() as folder:
        counts = {"a CSV to a calibration": of_calibrating(Path(folder))}
    counts["a reply to a decision"] = of_scoring()
    for name, files in counts.items():
        rooms = {file.rpartition("/")[0] for file in files}
        print(f"{name}: {len(files)} files of {len(rooms)} rooms", *files, sep="\n  ")


if __name__ == "__main__":
    main()
