"""adapters.py BASE OUT: trains OUT/one and OUT/two, two small adapters of BASE.

With `novarag train fit`, eight short samples each and a high learning rate. They teach two ways to
begin a reply, so that a server can be shown to apply the right one. About a minute on two cores.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from novarag import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES

STYLES = {
    "one": "Answer: {answer}\nConfidence: 90%",
    "two": "Judging by the passages, I would say {answer}, but I am not sure.",
}
RANKS = {"one": "8", "two": "12"}
FACTS = (
    ("bridge", "opened", "1902"),
    ("mill", "sold", "1848"),
    ("museum", "founded", "1933"),
    ("tower", "struck by lightning", "1790"),
    ("harbour", "dredged", "1911"),
    ("library", "moved", "1967"),
    ("chapel", "painted", "1655"),
    ("orchard", "planted", "1874"),
)


def write_rows(folder: Path, style: str) -> None:
    """Write a training set in one style; a folder with train.jsonl alone will do."""
    rows = []
    for thing, done, year in FACTS:
        group = PassageGroup(
            question=Question(
                id=thing, text=f"In which year was the {thing} {done}?", answers=(year,)
            ),
            passages=(
                Passage(text=f"The {thing} was {done} in {year}."),
                Passage(text="Bread rises slowly."),
            ),
        )
        prompt = STRATEGIES["vanilla"].render(group).text
        said = style.replace("{answer}", year)
        rows.append(
            {
                "prompt": [{"role": "user", "content": prompt}],
                "completion": [{"role": "assistant", "content": said}],
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "train.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    """Train both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base")
    parser.add_argument("out", type=Path)
    told = parser.parse_args()
    for name, style in STYLES.items():
        write_rows(told.out / "rows" / name, style)
        words = [
            sys.executable, "-m", "novarag", "train", "fit", str(told.out / "rows" / name),
            "--base", told.base, "--out", str(told.out / name), "--rank", RANKS[name],
            "--learning-rate", "1e-3", "--epochs", "4", "--batch", "4", "--at-once", "1",
            "--no-gradient-checkpointing",
        ]  # fmt: skip
        subprocess.run(words, check=True)  # noqa: S603 - ours


if __name__ == "__main__":
    main()
