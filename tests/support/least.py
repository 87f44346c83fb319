"""The least of several measurements: other work on a machine only ever adds to a cost."""

from collections.abc import Callable


def least(measure: Callable[[], float], enough: float, tries: int = 8) -> float:
    """Measure until a figure is below `enough` or the tries are used up; return the least."""
    lowest = measure()
    for _ in range(tries - 1):
        if lowest < enough:
            break
        lowest = min(lowest, measure())
    return lowest
