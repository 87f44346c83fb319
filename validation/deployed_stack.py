"""Images and containers of `validation.deployed_image`: made by podman, buildah and podman-compose."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import aiohttp

    from novarag.records import PassageGroup

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "gateway"
PREFIX = "localhost/novarag-proof"
BASE, GATEWAY, NEXT = f"{PREFIX}-base", f"{PREFIX}-gateway", f"{PREFIX}-next"
HERE = {name: f"{PREFIX}-{name}" for name in ("postgres", "prometheus")}
CERTIFICATES = "/etc/ssl/certs"
PROJECT, DATABASE = "novarag-proof", "novarag"
MIGRATIONS = "/opt/novarag/lib/python3.11/site-packages/novarag/gateway/audit/migrations/"


def run(*words: object, env: dict[str, str] | None = None) -> str:
    """Run a program; return what it printed."""
    done = subprocess.run(
        [str(word) for word in words], env=os.environ | (env or {}),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout[-3000:]}")
    return done.stdout


@contextmanager
def builder() -> Iterator[tuple[str, ...]]:
    """Yield the options of a builder without rights, which reaches what this machine reaches.

    It sees a copy of the machine's certificates, as packages write into their folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copytree(CERTIFICATES, Path(folder, "certs"))
        shared = ("--volume", f"{copied}:{CERTIFICATES}")
        yield ("--isolation", "chroot", "--network", "host", *shared)


def make_images() -> None:
    """Make all images, none of which is pulled."""
    begun = time.monotonic()
    run(FOLDER / "image", "base", BASE)
    with builder() as options:
        run(FOLDER / "image", "build", GATEWAY, BASE, *options)
        for target, name in HERE.items():
            run(
                "buildah", "build", "-q", "--format", "docker", "--pull-never", *options,
                "--target", target, "--build-arg", f"BASE={BASE}", "-t", name, FOLDER / "here",
            )  # fmt: skip
    print(f"images made in {time.monotonic() - begun:.0f} s")


def next_release() -> None:
    """Make the image of a release that has one migration more."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "0002.sql").write_text(
            "create table later (number integer primary key);\n", "utf-8"
        )
        Path(folder, "Dockerfile").write_text(
            f"FROM {GATEWAY}\nUSER 0\nCOPY --chmod=644 0002.sql {MIGRATIONS}\nUSER 10001:10001\n",
            "utf-8",
        )
        with builder() as options:
            run("buildah", "build", "-q", "--format", "docker", "--pull-never", *options, "-t", NEXT, folder)  # fmt: skip


def write_groups(path: Path, groups: list[PassageGroup]) -> None:
    """Write groups as `novarag train group` does, for the simulated model."""
    lines = [
        {
            "question": group.question.text,
            "id": group.question.id,
            "answers": list(group.question.answers),
            "group": str(number),
            "passages": [
                {"text": p.text, "kind": str(p.kind)} | ({"claim": p.claim} if p.claim else {})
                for p in group.passages
            ],
        }
        for number, group in enumerate(groups)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    path.chmod(0o644)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _engine(folder: Path) -> dict[str, str]:
    """Say how containers run where this machine's limits are lower than podman's own."""
    if "CONTAINERS_CONF" in os.environ:
        return {}
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    lines = ["[containers]", f'default_ulimits = ["nofile={files}:{files}", "nproc=4096:4096"]']
    if shutil.which("runc"):
        lines += ["[engine]", 'runtime = "runc"']
    (folder / "containers.conf").write_text("\n".join(lines) + "\n")
    return {"CONTAINERS_CONF": str(folder / "containers.conf")}


class Stack:
    """The containers of a compose project, and its folder of settings."""

    def __init__(self, folder: Path) -> None:
        self.settings, self._keys = folder / "settings", folder / "metrics.key"
        self._backup = folder / "backup"
        ports = _free_port(), _free_port()
        self.url, self._prometheus = (f"http://127.0.0.1:{port}" for port in ports)
        self.env = _engine(folder) | {
            "POSTGRES_PASSWORD": os.urandom(12).hex(), "MODEL_KEY": os.urandom(12).hex(),
            "GATEWAY_IMAGE": GATEWAY, "POSTGRES_IMAGE": HERE["postgres"],
            "PROMETHEUS_IMAGE": HERE["prometheus"], "SETTINGS": str(self.settings),
            "GROUPS_FILE": str(folder / "groups.jsonl"), "METRICS_KEY_FILE": str(self._keys),
            "GATEWAY_PORT": str(ports[0]), "PROMETHEUS_PORT": str(ports[1]),
            "HOST_ADDRESS": "127.0.0.1",
        }  # fmt: skip

    def prepare(self, settings: str) -> None:
        """Make the folder of settings, which `admin` may write into."""
        self.settings.mkdir()
        self.save(self.settings / "gateway.toml", settings)
        os.chown(self.settings, 10001, 10001)
        self._keys.touch(0o644)

    def save(self, path: Path, text: str) -> None:
        """Save a file as editors do: a new one takes its name."""
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, "utf-8")
        fresh.chmod(0o644)
        fresh.rename(path)

    def compose(self, *words: str) -> str:
        files = ("-f", FOLDER / "compose.yaml", "-f", FOLDER / "here" / "compose.yaml")
        said = run("podman-compose", "-p", PROJECT, *files, *words, env=self.env)
        codes = re.findall(r"^exit code: (\d+)$", said, re.MULTILINE)  # its own is always 0
        if words[0] in {"up", "run"} and codes[-1:] != ["0"]:
            raise RuntimeError(f"podman-compose {' '.join(words)}: {said[-3000:]}")
        return said

    def podman(self, *words: object) -> str:
        return run("podman", *words, env=self.env)

    def name(self, service: str) -> str:
        """Name the container of a service."""
        return f"{PROJECT}_{service}_1"

    def inside(self, service: str, *words: str) -> str:
        """Run a program in a service's container."""
        return self.podman("exec", self.name(service), *words)

    def admin(self, *words: str) -> str:
        """Run one command of `novarag gateway`."""
        return self.compose("run", "--rm", "-T", "--no-deps", "admin", *words)

    def draw_keys(self) -> tuple[str, str]:
        """Draw a key for a tenant and one for Prometheus, which gets it."""
        self.wait_for_database()
        found = []
        for words in (("acme",), ("prometheus", "--scope", "metrics")):
            said = self.admin("key", "add", *words, "--settings", "/etc/novarag/gateway.toml")
            found += re.findall(r"^(nvr_\S+)$", said, re.MULTILINE)
        tenant, metrics = found
        self._keys.write_text(metrics)
        return tenant, metrics

    def wait_for_database(self) -> None:
        for _ in range(150):
            try:
                self.inside("postgres", "pg_isready", "-h", "127.0.0.1", "-U", "novarag", "-d", DATABASE)  # fmt: skip
            except RuntimeError:
                time.sleep(0.2)
            else:
                return
        raise RuntimeError(
            "PostgreSQL did not start: " + self.podman("logs", self.name("postgres"))
        )

    async def ready(self, client: aiohttp.ClientSession) -> None:
        """Wait until the gateway takes requests."""
        for _ in range(200):
            try:
                async with client.get("/readyz") as reply:
                    if reply.status == 200:
                        return
            except OSError:
                pass
            await asyncio.sleep(0.2)
        raise RuntimeError("no gateway: " + self.podman("logs", self.name("gateway")))

    async def knows(self, client: aiohttp.ClientSession) -> None:
        """Wait until the gateway has read the keys."""
        for _ in range(100):
            async with client.get("/v1/models") as reply:
                if reply.status == 200:
                    return
            await asyncio.sleep(0.2)
        raise RuntimeError("the gateway does not know its keys")

    def health_check(self) -> tuple[int, int]:
        """Run the image's own check beside a gateway and without one; return the exit codes."""
        (image,) = json.loads(self.podman("inspect", "--type", "image", GATEWAY))
        kind, *command = image["HealthCheck" if "HealthCheck" in image else "Healthcheck"]["Test"]
        assert kind == "CMD"
        rest = ("--rm", "--no-healthcheck", "--entrypoint", command[0], GATEWAY, *command[1:])
        codes = []
        for words in (("exec", self.name("gateway"), *command), ("run", *rest)):
            done = subprocess.run(
                ["podman", *words], env=os.environ | self.env, capture_output=True, check=False
            )
            codes.append(done.returncode)
        return codes[0], codes[1]

    @contextmanager
    def mounted_alone(self, path: Path) -> Iterator[Callable[[], str]]:
        """Mount one file by itself; yield what reads it in its container."""
        name = f"{PROJECT}_alone"
        self.podman(
            "run", "-d", "--rm", "--name", name, "--no-healthcheck", "-v", f"{path}:/gate.json:ro",
            "--entrypoint", "python3", GATEWAY, "-c", "import time; time.sleep(600)",
        )  # fmt: skip
        try:
            yield lambda: self.podman("exec", name, "python3", "-c", "print(open('/gate.json').read(), end='')")  # fmt: skip
        finally:
            self.podman("kill", name)

    async def prometheus(self, client: aiohttp.ClientSession, query: str) -> bool:
        """Say whether Prometheus has numbers for a query of the dashboard."""
        plain = query.replace("$__rate_interval", "1m").replace("$model", ".*")
        found = await self._asked(client, "query", {"query": plain})
        values = [float(one["value"][1]) for one in found["result"]]
        return bool(values) and any(map(math.isfinite, values))

    async def rules(self, client: aiohttp.ClientSession) -> list[str]:
        """Return the health of each rule of the alerts."""
        found = await self._asked(client, "rules", {})
        return [rule["health"] for group in found["groups"] for rule in group["rules"]]

    async def _asked(
        self, client: aiohttp.ClientSession, route: str, words: dict[str, str]
    ) -> dict:
        url = f"{self._prometheus}/api/v1/{route}"
        async with client.get(url, params=words) as reply:
            content = await reply.json()
        if content["status"] != "success":
            raise RuntimeError(f"Prometheus: {words} {content}")
        return content["data"]

    def replace_gateway(self, image: str) -> None:
        """End the gateway, and start one of another image."""
        self.podman("stop", "--time", "40", self.name("gateway"))
        self.podman("rm", self.name("gateway"))
        self.env["GATEWAY_IMAGE"] = image
        self.compose("up", "--no-build", "-d", "gateway")

    def sql(self, query: str, database: str = DATABASE) -> str:
        return self.inside(
            "postgres", "psql", "-U", "novarag", "-d", database, "-Atc", query
        ).strip()

    def schema(self) -> list[str]:
        """Return the lines of the schema, without what pg_dump draws anew each time."""
        said = self.inside("postgres", "pg_dump", "-U", "novarag", "--schema-only", DATABASE)
        return [line for line in said.splitlines() if line and not line.startswith(("\\", "--"))]

    def digest(self) -> str:
        """Return a digest of all rows."""
        each = [f"select md5(coalesce(string_agg(r::text, ',' order by r::text), '')) from {t} r" for t in ("decisions", "feedback", "keys", "migrations")]  # fmt: skip
        return self.sql(" union all ".join(each))

    def dump_and_restore(self) -> int:
        """Take the steps of docs/upgrading.md; return the bytes of the dump."""
        name = self.name("postgres")
        with self._backup.open("wb") as out:
            dump = ["podman", "exec", name, "pg_dump", "-U", "novarag", "--format=custom", DATABASE]
            subprocess.run(dump, env=os.environ | self.env, stdout=out, check=True)
        self.inside("postgres", "createdb", "-U", "novarag", "restored")
        with self._backup.open("rb") as dumped:
            restore = ["podman", "exec", "-i", name, "pg_restore", "-U", "novarag", "--exit-on-error", "-d", "restored"]  # fmt: skip
            subprocess.run(restore, env=os.environ | self.env, stdin=dumped, check=True)
        swap = (
            "alter database novarag allow_connections false",
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'novarag'",
            "alter database novarag rename to replaced",
            "alter database restored rename to novarag",
        )
        for statement in swap:
            self.sql(statement, database="postgres")
        return self._backup.stat().st_size


@contextmanager
def stacked(folder: Path, settings: str, *, ready: bool, keep: bool) -> Iterator[Stack]:
    """Make the images, bring up the stack, and take all of it away again."""
    if not ready:
        make_images()
    stack = Stack(folder)
    stack.prepare(settings)
    services = ("postgres", "model", "gateway", "prometheus")
    try:
        stack.compose("up", "--no-build", "-d", *services)
        yield stack
    finally:
        stack.compose("down", "-v")
        if not keep:
            stack.podman("rmi", "--force", "--ignore", GATEWAY, NEXT, *HERE.values(), BASE)
