"""The gateway's image, made without a registry and run by compose beside a real PostgreSQL.

Usage: python -m validation.deployed_image [--ready] [--keep]

Makes a base by debootstrap, the gateway's image on it, and brings up deploy/gateway. Then: 200
requests with the database killed and back; what the gateway's process may do; an editor's save of
the gate and a reload; feedback, a proposal, and its adoption; the dashboard's queries before a real
Prometheus; an upgrade and its rollback; a backup and its restore. --ready takes the images of an
earlier --keep. Needs root, and what deploy/gateway/image needs. Ends with 1 where a line does not
hold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp

from novarag.gateway.snapshot import Snapshot
from tools.try_gateway import made_up_groups
from validation.deployed_stack import GATEWAY, NEXT, Stack, next_release, stacked, write_groups

ROOT = Path(__file__).parents[1]
RIGHTS = """
import errno, json
status = dict(line.rstrip().split(":\\t", 1) for line in open("/proc/1/status") if ":\\t" in line)
said = {}
for folder in ("/", "/opt/novarag", "/etc/novarag", "/var/lib/novarag", "/tmp"):
    try:
        open(f"{folder}/written", "w").close()
        said[folder] = "written"
    except OSError as error:
        said[folder] = errno.errorcode[error.errno]
print(json.dumps([status, said]))
"""
SETTINGS = """
[listen]
host = "0.0.0.0"
[upstreams.model]
url = "http://model:8000/v1"
key_env = "MODEL_KEY"
[models.support]
upstream = "model"
name = "simulated:base"
{more}
[access]
reread = 2
[audit]
spool = "/var/lib/novarag/spool"
"""
FILES = 'calibration = "support.calibration.json"\ngate = "support.gate.json"'
PHASES = ((70, "before the kill"), (60, "while it is away"), (70, "after its return"))


class Proof:
    """A stack that runs, who asks it, and what held so far."""

    def __init__(self, stack: Stack, client: aiohttp.ClientSession, metrics_key: str) -> None:
        self.stack, self.client, self._metrics_key = stack, client, metrics_key
        every = made_up_groups()  # three mixes of a question, one after the other
        self.groups = [*every[::3], *every[1::3], *every[2::3]]
        self.asked, self.ids = 0, []
        self.failed: list[str] = []

    def tell(self, what: str, said: str, *, holds: bool) -> None:
        """Print a row of the table."""
        print(f"{'holds' if holds else 'FAILS'} | {what} | {said}", flush=True)
        if not holds:
            self.failed.append(what)

    async def ask(self, count: int) -> list[dict]:
        """Ask so many questions, eight at once; return verdicts with whether they were right."""
        numbers = iter(range(self.asked, self.asked + count))
        self.asked += count
        found: list[dict] = []

        async def some() -> None:
            for number in numbers:
                group = self.groups[number % len(self.groups)]
                body = {
                    "model": "support",
                    "messages": [{"role": "user", "content": group.question.text}],
                    "novarag": {"passages": [{"text": p.text} for p in group.passages]},
                }
                async with self.client.post("/v1/chat/completions", json=body) as reply:
                    content = await reply.json()
                    if reply.status != 200:
                        self.failed.append(f"a request: {reply.status} {content}")
                        continue
                text = content["choices"][0]["message"]["content"]
                right = any(answer in text for answer in group.question.answers)
                found.append(content["novarag"] | {"right": right})

        await asyncio.gather(*(some() for _ in range(8)))
        self.ids += [one["id"] for one in found]
        return found

    async def metric(self, name: str) -> float:
        """Read one number from the gateway."""
        headers = {"Authorization": f"Bearer {self._metrics_key}"}
        async with self.client.get("/metrics", headers=headers) as reply:
            text = await reply.text()
        (line,) = [one for one in text.splitlines() if one.startswith(f"{name} ")]
        return float(line.split()[1])

    async def until(self, name: str, value: float, seconds: float = 60) -> bool:
        """Wait until a number of the gateway is so."""
        for _ in range(int(seconds / 0.2)):
            if await self.metric(name) == value:
                return True
            await asyncio.sleep(0.2)
        return False

    async def rows_are_requests(self, what: str) -> None:
        """Hold the rows of the database against all replies that clients ever got."""
        await self.until("novarag_gateway_audit_waiting_bytes", 0)
        for _ in range(100):
            rows = self.stack.sql("select id from decisions").split()
            if len(rows) >= len(self.ids):
                break
            await asyncio.sleep(0.2)
        same = sorted(rows) == sorted(self.ids)
        said = f"{len(rows)} rows of {len(self.ids)} replies, {len(set(rows))} of them distinct"
        self.tell(what, said, holds=same and len(set(rows)) == len(rows))

    async def reload(self) -> str:
        """Send SIGHUP, and return the version of the settings once it is another."""
        (before,) = {one["settings"] for one in await self.ask(1)}
        self.stack.podman("kill", "--signal", "HUP", self.stack.name("gateway"))
        for _ in range(50):
            (now,) = {one["settings"] for one in await self.ask(1)}
            if now != before:
                break
            await asyncio.sleep(0.1)
        return now


async def outage(proof: Proof) -> list[dict]:
    """Ask 200 questions, with the database killed and back in between."""
    found, seen = [], []
    postgres = proof.stack.name("postgres")
    for number, (count, when) in enumerate(PHASES):
        if number == 1:
            proof.stack.podman("kill", "--signal", "KILL", postgres)
            proof.stack.podman("stop", "--time", "0", postgres)  # or it is restarted at once
        if number == 2:
            seen.append(await proof.metric("novarag_gateway_audit_waiting_bytes"))
            seen.append(await proof.metric("novarag_gateway_audit_connected"))
            proof.stack.podman("start", postgres)
        replies = await proof.ask(count)
        found += replies
        proof.tell(f"requests {when}", f"{len(replies)} of {count} answered", holds=len(replies) == count)  # fmt: skip
    proof.tell(
        "database away", f"{seen[0]:,.0f} bytes waited, connected {seen[1]:g}",
        holds=seen[0] > 0 and seen[1] == 0,
    )  # fmt: skip
    await proof.until("novarag_gateway_audit_connected", 1)
    await proof.rows_are_requests("rows = requests after a kill of the database")
    return found


def rights(proof: Proof) -> None:
    """Look at what the gateway's process may do."""
    stack = proof.stack
    status, said = json.loads(stack.inside("gateway", "python3", "-c", RIGHTS))
    users = set(status["Uid"].split()) | set(status["Gid"].split())
    proof.tell("user", f"uid and gid {', '.join(sorted(users))}", holds=users == {"10001"})
    sets = {name: status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    none = all(int(value, 16) == 0 for value in sets.values())
    proof.tell("capabilities", "none in any set" if none else str(sets), holds=none)
    few = (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    proof.tell("no new privileges, filtered calls", f"{status['NoNewPrivs']}, {status['Seccomp']}", holds=few)  # fmt: skip
    wanted = {"/": "EROFS", "/opt/novarag": "EROFS", "/etc/novarag": "EROFS"}
    wanted |= {"/var/lib/novarag": "written", "/tmp": "written"}
    proof.tell("a file is written", ", ".join(f"{k} {v}" for k, v in said.items()), holds=said == wanted)  # fmt: skip
    healthy, sick = stack.health_check()
    proof.tell("health check", f"exit {healthy} beside the gateway, {sick} without", holds=healthy == 0 != sick)  # fmt: skip


async def loop(proof: Proof, found: list[dict]) -> None:
    """Make a gate of feedback, adopt it, and save another in its place as an editor does."""
    stack, path = proof.stack, proof.stack.settings / "gateway.toml"
    given = [one for one in found if one["decision"] == "answer"]
    for one in given:
        body = {"id": one["id"], "verdict": "right" if one["right"] else "wrong"}
        async with proof.client.post("/v1/feedback", json=body) as reply:
            reply.raise_for_status()
    await proof.until("novarag_gateway_audit_waiting_bytes", 0)
    proof.tell("feedback", f"on {len(given)} answers", holds=len(given) > 100)
    place, served = "/etc/novarag/gateway.toml", ("--served", "support")
    for risk, name in (("80%", "support"), ("85%", "other")):
        split = f"/etc/novarag/{name}.calibration.proposed.json"
        gate = f"/etc/novarag/{name}.gate.proposed.json"
        stack.admin("propose", place, *served, "--risk", risk, "--split", split, "--out", gate)
    stack.admin("adopt", place, *served)
    stack.save(path, SETTINGS.format(more=FILES))
    now, wanted = await proof.reload(), Snapshot(path).version
    proof.tell("a proposal is adopted and reloaded", f"settings {now}", holds=now == wanted)
    await _saved(proof, path, now)


async def _saved(proof: Proof, path: Path, before: str) -> None:
    """Replace the gate as an editor does: by another file of its name."""
    stack, gate = proof.stack, path.with_name("support.gate.json")
    old = gate.read_text("utf-8")
    with stack.mounted_alone(gate) as read:
        stack.save(gate, path.with_name("other.gate.proposed.json").read_text("utf-8"))
        now, wanted = await proof.reload(), Snapshot(path).version
        proof.tell(
            "an editor's save of the gate is reloaded", f"settings {before} became {now}",
            holds=before != now == wanted,
        )  # fmt: skip
        stale = read() == old != gate.read_text("utf-8")
    proof.tell("a file that is mounted alone", "stays the old one" if stale else "changes", holds=stale)  # fmt: skip


async def dashboard(proof: Proof) -> None:
    """Put each query of the dashboard to a real Prometheus until it has numbers for all."""
    panels = json.loads((ROOT / "deploy/grafana/gateway.json").read_text("utf-8"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    headers = {"Authorization": "Bearer nobody"}
    left, end = set(queries), time.monotonic() + 150
    while left and time.monotonic() < end:
        async with proof.client.post("/v1/chat/completions", json={}, headers=headers):
            pass  # turned away, which the dashboard counts
        await proof.ask(4)
        await asyncio.sleep(3)
        left = {query for query in left if not await proof.stack.prometheus(proof.client, query)}
    said = (
        f"{len(queries) - len(left)} of {len(queries)} answered with numbers {sorted(left) or ''}"
    )
    proof.tell("queries of the dashboard", said.strip(), holds=not left)
    states = Counter(await proof.stack.rules(proof.client))
    proof.tell("rules of the alerts", str(dict(states)), holds=set(states) == {"ok"})


async def upgrade(proof: Proof) -> None:
    """Bring up a next release with one more migration, and go back to this one."""
    before, number = proof.stack.schema(), "select max(number) from migrations"
    first = proof.stack.sql(number)
    next_release()
    for image, what in ((NEXT, "upgrade"), (GATEWAY, "rollback")):
        proof.stack.replace_gateway(image)
        await proof.stack.ready(proof.client)
        replies = await proof.ask(20)
        await proof.rows_are_requests(f"rows = requests after the {what}")
        now, schema = proof.stack.sql(number), proof.stack.schema()
        gone = [line for line in before if line not in schema]
        said = f"{len(replies)} of 20 answered; migration {first}, now {now}; lines of the schema: {len(before)}, now {len(schema)}, gone {len(gone)}"
        proof.tell(what, said, holds=len(replies) == 20 and now == "2" and not gone and len(schema) > len(before))  # fmt: skip


async def backup(proof: Proof) -> None:
    """Dump the database, restore it beside itself, and put it in the place of the first."""
    before, rows = proof.stack.schema(), proof.stack.digest()
    size = proof.stack.dump_and_restore()
    same = (proof.stack.schema(), proof.stack.digest()) == (before, rows)
    said = f"{size:,} bytes; schema and rows {'the same' if same else 'DIFFER'}"
    proof.tell("dump, restore, and change of place", said, holds=same)
    replies = await proof.ask(20)
    proof.tell("requests after the restore", f"{len(replies)} of 20 answered", holds=len(replies) == 20)  # fmt: skip
    await proof.rows_are_requests("rows = requests after the restore")


async def prove(stack: Stack) -> list[str]:
    """Run all parts; return what failed."""
    key, metrics_key = stack.draw_keys()
    headers = {"Authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(stack.url, headers=headers, timeout=timeout) as client:
        await stack.ready(client)
        await stack.knows(client)
        proof = Proof(stack, client, metrics_key)
        found = await outage(proof)
        rights(proof)
        await loop(proof, found)
        await dashboard(proof)
        await upgrade(proof)
        await backup(proof)
    print(f"{len(proof.ids)} requests in all")
    return proof.failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ready", action="store_true", help="The images are there.")
    parser.add_argument("--keep", action="store_true", help="Leave images.")
    args = parser.parse_args()
    os.environ.setdefault("MODEL_KEY", "any")  # settings are also read here, for their version
    with tempfile.TemporaryDirectory(prefix="novarag-deployed-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        write_groups(folder / "groups.jsonl", made_up_groups())
        with stacked(folder, SETTINGS.format(more=""), ready=args.ready, keep=args.keep) as stack:
            failed = asyncio.run(prove(stack))
    for one in failed[:10]:
        print(f"FAILED: {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
