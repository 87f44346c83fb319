"""How a training went, on one page: the loss curve, the data, every setting with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.report.svg import svg, tag, with_title
from novarag.report.templating import render_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

_LEFT, _TOP, _WIDE, _TALL = 52, 12, 640, 240


def training_page(facts: Mapping[str, Any]) -> str:
    """Draw the page of a training from what `training.json` holds."""
    return render_page(
        "training.html.j2", facts=facts, finding=loss_finding(facts["losses"]),
        curve=loss_curve(facts["losses"], facts["dev_losses"]),
    )  # fmt: skip


def loss_finding(losses: Sequence[Mapping[str, Any]]) -> str:
    """Say how far the loss fell: its mean over the first and the last tenth of the training."""
    width = max(1, len(losses) // 10)
    first, last = (
        sum(row["loss"] for row in part) / len(part) for part in (losses[:width], losses[-width:])
    )
    how = "fell" if last < first else "did not fall"
    return (
        f"The loss {how}: {first:.2f} over the first tenth of the steps, {last:.2f} over the last"
    )


def loss_curve(losses: Sequence[Mapping[str, Any]], dev: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the loss of every step, its moving mean, and the loss on the dev split as dots."""
    top = max(row["loss"] for row in (*losses, *dev)) or 1.0
    last = max(losses[-1]["step"], 1)

    def place(row: Mapping[str, Any]) -> tuple[float, float]:
        x = _LEFT + row["step"] / last * _WIDE
        return round(x, 2), round(_TOP + (1 - row["loss"] / top) * _TALL, 2)

    body = _frame(top, last)
    body.append(tag("path", d=_path([place(row) for row in losses]), class_="raw"))
    body.append(tag("path", d=_path([place(row) for row in _smooth(losses)]), class_="line"))
    for row in dev:
        x, y = place(row)
        says = f"dev split after step {row['step']:,}: {row['loss']:.3f}"
        body.append(with_title(tag("circle", cx=x, cy=y, r=4, class_="dot"), says))
    return svg(_LEFT + _WIDE + 16, _TOP + _TALL + 44, "Loss by step", body)


def _frame(top: float, last: int) -> list[Markup]:
    body = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = round(_TOP + (1 - share) * _TALL, 2)
        body.append(tag("line", x1=_LEFT, x2=_LEFT + _WIDE, y1=y, y2=y, class_="grid"))
        body.append(tag("text", f"{share * top:.2f}", x=_LEFT - 8, y=y + 4, class_="tick end"))
        x = _LEFT + share * _WIDE
        said = f"{share * last:,.0f}"
        body.append(tag("text", said, x=x, y=_TOP + _TALL + 18, class_="tick mid"))
    middle = _LEFT + _WIDE / 2
    body.append(tag("text", "step", x=middle, y=_TOP + _TALL + 38, class_="label mid"))
    return body


def _smooth(losses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Take the mean over the tenth of the training that ends at each step."""
    width = max(1, len(losses) // 10)
    means = []
    for i, row in enumerate(losses):
        part = losses[max(0, i + 1 - width) : i + 1]
        means.append({"step": row["step"], "loss": sum(r["loss"] for r in part) / len(part)})
    return means


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{'L' if i else 'M'}{x} {y}" for i, (x, y) in enumerate(points))
