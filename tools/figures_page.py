"""Write docs/figures.md from the table of metrics. Usage: python -m tools.figures_page > docs/figures.md"""

from novarag.metrics import METRICS
from novarag.report.words import RATIO_TITLES

ARROW = {1: "higher is better", -1: "lower is better", 0: ""}
print(
    "# Figures\n\nWhat each figure means and what would fool it, from the table the code itself uses.\n"
)
print("| figure | name | | what it means | what would fool it |\n|---|---|---|---|---|")
for m in METRICS.values():
    print(f"| {m.title} | `{m.name}` | {ARROW[m.better]} | {m.means} | {m.fooled_by} |")
for name, (title, means) in RATIO_TITLES.items():
    print(f"| {title} | `{name}` | | {means} | |")
