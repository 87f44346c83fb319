"""How work grows with size: the slope of its logarithm, so that a check of growth can fail."""

import math
from collections.abc import Iterator, Mapping


def slope(work: Mapping[int, float]) -> float:
    """Return the least-squares slope of log(work) over log(size): 1 is linear, 2 is quadratic."""
    xs = [math.log(size) for size in work]
    ys = [math.log(done) for done in work.values()]
    middle, level = sum(xs) / len(xs), sum(ys) / len(ys)
    along = sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True))
    return along / sum((x - middle) ** 2 for x in xs)


class Counting(Mapping):  # type: ignore[type-arg]
    """A mapping that counts each lookup and each name that is walked past."""

    def __init__(self, held: Mapping[str, object]) -> None:
        self.held, self.steps = held, 0

    def __getitem__(self, name: str) -> object:
        self.steps += 1
        return self.held[name]

    def __iter__(self) -> Iterator[str]:
        for name in self.held:
            self.steps += 1
            yield name

    def __len__(self) -> int:
        return len(self.held)
