"""The arithmetic of large indexes, from what was measured here and assumptions named as such.

    python -m tools.retrieval_scale [--write]

Prints the tables of docs/scale.md, or writes them and the Milvus configuration for 40M passages.
A server searches a collection segment by segment, so what was measured on one index of the size of
a segment is multiplied by the number of segments. Nothing of that size was run here.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import pairwise
from pathlib import Path

from tools.scale import number

ROOT = Path(__file__).parents[1]
INPUTS = ROOT / "docs" / "evidence" / "retrieval-inputs.json"
PAGE = ROOT / "docs" / "scale.md"
VALUES = ROOT / "deploy" / "milvus-40m.yaml"
BEGIN, END = "<!-- python -m tools.retrieval_scale -->", "<!-- end of retrieval -->"
SIZES = {"40M": 40_000_000, "10B": 10_000_000_000}

ASSUMED = {
    "node_memory": (64, "GB of memory of a query node"),
    "node_cores": (16, "cores of a query node"),
    "node_use": (0.75, "share of a node's memory that may be filled"),
    "busy": (0.5, "share of its time that a core may be busy"),
    "copies": (2, "copies of the collection in memory, so that a node may fail"),
    "dim": (768, "numbers in a vector: Contriever's; MiniLM has 384"),
    "links": (300, "bytes of graph links and bookkeeping a vector (M = 16)"),
    "core_hour": (0.04, "money for a core-hour"),
    "gb_month": (3.5, "money for a GB of memory in use for a month, with its machine"),
    "disk_month": (0.1, "money for a GB of disk for a month"),
    "gpu_passages": (4_000, "passages a second that one data-centre GPU encodes"),
    "gpu_hour": (2.5, "money for a GPU-hour"),
}


def power(rows: list[dict[str, float]], name: str) -> tuple[float, float]:
    """Return the least and the greatest exponent between the measured sizes."""
    steps = [
        math.log(b[name] / a[name]) / math.log(b["passages"] / a["passages"])
        for a, b in pairwise(rows)
    ]
    return min(steps), max(steps)


class Plan:
    """What an index of some size takes."""

    def __init__(self, size: int, measured: dict, assumed: dict[str, float]) -> None:
        self.size, self.assumed, self.rows = size, assumed, measured["sizes"]
        self.encode_ms = measured["encode_cpu_ms_per_passage"]
        self.segment = self.rows[-1]

    @property
    def segments(self) -> int:
        return math.ceil(self.size / self.segment["passages"])

    @property
    def vector_bytes(self) -> float:
        return self.assumed["dim"] * 4 + self.assumed["links"]

    @property
    def words_bytes(self) -> float:
        """Memory of a passage besides its vector, as the engine held it here."""
        return self.segment["memory_bytes_per_passage"] - 384 * 4

    @property
    def memory(self) -> float:
        return self.size * (self.vector_bytes + self.words_bytes)

    @property
    def disk(self) -> float:
        grown = (self.assumed["dim"] - 384) * 4
        return self.size * (self.segment["disk_bytes_per_passage"] + grown)

    @property
    def nodes(self) -> int:
        room = self.assumed["node_memory"] * 1e9 * self.assumed["node_use"]
        return math.ceil(self.assumed["copies"] * self.memory / room)

    def query_ms(self, mode: str) -> float:
        """CPU milliseconds of one query over all segments; a vector twice as long costs twice."""
        cost = self.segment[f"{mode}_cpu_ms_per_query"]
        longer = self.assumed["dim"] / 384 if mode == "graph" else 1
        return self.segments * cost * longer

    def merged_ms(self, mode: str) -> tuple[float, float]:
        """The same if all were one segment, by the least and the greatest measured growth."""
        name = f"{mode}_cpu_ms_per_query"
        times = self.size / self.segment["passages"]
        longer = self.assumed["dim"] / 384 if mode == "graph" else 1
        return tuple(self.segment[name] * longer * times**p for p in power(self.rows, name))

    def cells(self) -> dict[str, str]:
        a = self.assumed
        hybrid = self.query_ms("bm25") + self.query_ms("graph")
        encode_gpu = self.size / a["gpu_passages"] / 3600
        graph = self.size * self.segment["graph_build_cpu_ms_per_vector"] * a["dim"] / 384 / 3.6e6
        rate = self.nodes * a["node_cores"] * a["busy"] * 1e3 / hybrid
        low, high = self.merged_ms("bm25")
        return {
            f"segments of {self.segment['passages']:,.0f}": number(self.segments),
            "encoding, one core here": number(self.size * self.encode_ms / 3.6e6) + " h",
            "encoding, one GPU": number(encode_gpu) + " h",
            "encoding, money": number(encode_gpu * a["gpu_hour"]),
            "inserting": number(self.size * self.segment["index_cpu_ms_per_passage"] / 3.6e6)
            + " core-h",
            "building the graph": number(graph) + " core-h",
            "memory, one copy": number(self.memory, "B"),
            "disk": number(self.disk, "B"),
            f"query nodes of {a['node_memory']:g} GB, {a['copies']:g} copies": number(self.nodes),
            "CPU of a query by words": number(self.query_ms("bm25")) + " ms",
            "the same in one segment": f"{number(low)} to {number(high)} ms",
            "CPU of a query by vectors": number(self.query_ms("graph")) + " ms",
            "queries a second by both, these nodes": number(rate),
            "money a month, standing": number(
                a["copies"] * self.memory / 1e9 * a["gb_month"] + self.disk / 1e9 * a["disk_month"]
            ),
            "money for a million queries by words": number(
                self.query_ms("bm25") / 3.6 * a["core_hour"]
            ),
            "money for a million queries by both": number(hybrid / 3.6 * a["core_hour"]),
        }


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def tables(measured: dict, assumed: dict[str, float]) -> list[str]:
    """Return what was measured, what is assumed and what follows as Markdown."""
    rows = measured["sizes"]
    lines = ["| measured at | " + " | ".join(f"{r['passages']:,.0f}" for r in rows) + " | grows as size to the power |",
             "|---|" + "---:|" * (len(rows) + 1)]  # fmt: skip
    for name in rows[0]:
        if name == "passages":
            continue
        low, high = power(rows, name)
        grows = f"{low:.2f} to {high:.2f}" if name.endswith("per_query") else ""
        words = name.replace("_", " ").replace("cpu", "CPU")
        lines.append(f"| {words} | " + " | ".join(_figure(r[name]) for r in rows) + f" | {grows} |")
    lines += [
        f"| encode CPU ms per passage | {measured['encode_cpu_ms_per_passage']:.4g} |"
        + " |" * len(rows),
        "",
    ]
    lines += ["| assumed | value | |", "|---|---:|---|"]
    lines += [
        f"| {name.replace('_', ' ')} | {value:g} | {why} |"
        for name, (value, why) in ASSUMED.items()
    ]
    lines += ["", "| | " + " | ".join(f"{name} passages" for name in SIZES) + " |",
              "|---|" + "---:|" * len(SIZES)]  # fmt: skip
    cells = [Plan(size, measured, assumed).cells() for size in SIZES.values()]
    lines += [f"| {name} | " + " | ".join(c[name] for c in cells) + " |" for name in cells[0]]
    return lines


def values(plan: Plan) -> str:
    """Return the Helm values of a Milvus cluster for a plan."""
    a = plan.assumed
    gigabytes = math.ceil(plan.segment["disk_bytes_per_passage"] + (a["dim"] - 384) * 4)
    segment_mb = math.ceil(gigabytes * plan.segment["passages"] / 1e6 / 64) * 64
    return f"""\
# Milvus for {plan.size:,} passages of 100 words with vectors of {a["dim"]:g} numbers.
# Written by `python -m tools.retrieval_scale --write` from measured inputs; not run at this size.
# Use: helm install milvus milvus/milvus -f milvus-40m.yaml
# Then: novarag retrieval index CORPUS --uri http://HOST:19530 --encoder … --vectors graph
cluster:
  enabled: true

queryNode:                # holds the collection: {number(plan.memory, "B")} a copy, {a["copies"]:g} copies
  replicas: {plan.nodes}
  resources:
    requests: {{cpu: "{a["node_cores"]:g}", memory: {a["node_memory"]:g}Gi}}
    limits: {{cpu: "{a["node_cores"]:g}", memory: {a["node_memory"]:g}Gi}}

dataNode:                 # writes segments and builds their graphs
  replicas: 4
  resources:
    requests: {{cpu: "8", memory: 16Gi}}
    limits: {{cpu: "8", memory: 16Gi}}

streamingNode:
  replicas: 2
  resources:
    requests: {{cpu: "4", memory: 16Gi}}
    limits: {{cpu: "4", memory: 16Gi}}

proxy:
  replicas: 2
  resources:
    requests: {{cpu: "4", memory: 8Gi}}
    limits: {{cpu: "4", memory: 8Gi}}

mixCoordinator:
  replicas: 1
  resources:
    requests: {{cpu: "2", memory: 8Gi}}
    limits: {{cpu: "2", memory: 8Gi}}

etcd:
  replicaCount: 3

minio:                    # {number(plan.disk, "B")} of segments, twice for compaction, four drives
  mode: distributed
  persistence:
    size: {math.ceil(2 * plan.disk / 1e9 / 4)}Gi

extraConfigFiles:
  user.yaml: |+
    dataCoord:
      segment:
        maxSize: {segment_mb}     # MB: about {plan.segment["passages"]:,.0f} passages, the size that was measured
    queryNode:
      mmap:
        vectorIndex: false        # the graph is walked at random: it stays in memory
        vectorField: true         # raw vectors are read when an index is built
        scalarIndex: false
        scalarField: true         # texts are read only for the few that are found
    common:
      security:
        authorizationEnabled: true   # novarag takes the token from MILVUS_TOKEN
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    for name, (value, why) in ASSUMED.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value, help=why)
    given = vars(parser.parse_args())
    measured = json.loads(INPUTS.read_text("utf-8"))
    assumed = {name: given[name] for name in ASSUMED}
    lines = tables(measured, assumed)
    if not given["write"]:
        print("\n".join(lines))
        return
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]), "utf-8")
    VALUES.parent.mkdir(exist_ok=True)
    VALUES.write_text(values(Plan(SIZES["40M"], measured, assumed)), "utf-8")


if __name__ == "__main__":
    main()
