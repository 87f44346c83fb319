"""What keeps a gateway cheap, where it could be lost without anybody noticing."""

import asyncio
import gc
import subprocess
import sys

import orjson
import pytest
from starlette.applications import Starlette

from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.gateway.http import server
from novarag.gateway.http.connection import ClientGone, serve_within
from novarag.records import Passage, PassageGroup, Question
from novarag.strategies import STRATEGIES
from tests.support.gateways import PASSAGES, QUESTION, Upstream, ask, fronted, post, settings
from tests.support.live_parts import calibration, gate
from tests.support.waiting import until

pytestmark = pytest.mark.enable_socket
NOVA = STRATEGIES["nova"]
GROUP = PassageGroup(
    question=Question(id="q", text=QUESTION), passages=tuple(Passage(text=p) for p in PASSAGES)
)


def test_a_process_that_serves_loads_no_statistics_and_no_tables(tmp_path):
    made = calibration(AnswerSource(model="llama", prompt=NOVA.template.hash))
    save_calibration(made, tmp_path / "calibration.json")
    save_gate(gate(0.05, made), tmp_path / "gate.json")
    parts = 'calibration = "calibration.json"\ngate = "gate.json"'
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1", model=parts))
    code = (
        "import sys, novarag.gateway.http.server, novarag.gateway.audit.recorder\n"
        "from novarag.gateway.http.app import make_app\n"
        "from novarag.gateway.state import Gateway\n"
        "from novarag.gateway.snapshot import Snapshot\n"
        "made = Gateway(Snapshot(sys.argv[1])); make_app(made)\n"
        "made.snapshot.respondents['support'].calibration.one(0.9, 'consistent')\n"
        "assert made.drift.drift_states()['support'].notices\n"
        "bad = {'scipy', 'polars', 'pyarrow', 'pandas', 'jinja2', 'opentelemetry'}\n"
        "assert not bad & set(sys.modules), bad & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "gateway.toml"], check=True)


def test_every_body_is_parsed_once_and_written_once(tmp_path, monkeypatch):
    calls = []
    for name in ("loads", "dumps"):
        whole = getattr(orjson, name)
        monkeypatch.setattr(
            orjson, name, lambda *a, n=name, f=whole, **k: calls.append(n) or f(*a, **k)
        )

    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            await post(client, ask())
            calls.clear()
            return (await post(client, ask()))[0]

    assert asyncio.run(story()) == 200
    assert sorted(calls) == ["dumps", "dumps", "loads", "loads"]


def test_a_request_leaves_no_cycle_behind(tmp_path):
    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            await post(client, ask())
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                for _ in range(5):
                    await post(client, ask())
                gc.collect()
                return {type(one).__name__ for one in gc.garbage}
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()

    left = asyncio.run(story())
    assert not left & {"RequestResponseCycle", "Exchange", "ClientResponse", "_Guard", "Task"}


def test_a_request_passes_by_the_layers_of_starlette(tmp_path, monkeypatch):
    async def refuse(*_):
        raise AssertionError("this went through all layers")

    async def story():
        async with fronted(tmp_path, Upstream()) as client:
            monkeypatch.setattr(Starlette, "__call__", refuse)
            served = (await post(client, ask()))[0]
            monkeypatch.undo()
            async with client.get("/v1/chat/completions") as other:
                return served, other.status

    assert asyncio.run(story()) == (200, 405)


def test_collections_are_made_rare_once_all_is_in_place(tmp_path, monkeypatch):
    (tmp_path / "gateway.toml").write_text(settings("http://127.0.0.1:1/v1"))
    made, make, started = [], server.make_server, []
    monkeypatch.setattr(
        server, "make_server", lambda *a, **k: made.append(make(*a, **k)) or made[0]
    )

    async def whole():
        begun = server.run_server(
            tmp_path / "gateway.toml", started=lambda: started.append(made[0].started)
        )
        serving = asyncio.create_task(begun)
        await until(lambda: started)
        made[0].should_exit = True
        await serving

    asyncio.run(whole())
    assert started == [True]
    code = (
        "import gc; from novarag.gateway.admin.running import collect_rarely; collect_rarely();"
        "assert gc.get_freeze_count() > 1000 and gc.get_threshold()[0] >= 10_000 and gc.isenabled()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Client:
    """A client that has sent its body, lets others go first, and leaves when it is told to."""

    def __init__(self, *messages):
        self._messages, self.left, self.asked = list(messages), asyncio.Event(), 0

    async def __call__(self):
        self.asked += 1
        await asyncio.sleep(0)
        if self._messages:
            return self._messages.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}


BODY = {"type": "http.request", "body": b"x", "more_body": False}


@pytest.mark.parametrize("more", [0, 2])
def test_work_is_dropped_when_the_client_leaves(more):
    async def story():
        client, begun = Client(BODY, *[BODY] * more), asyncio.Event()

        async def work(body):
            assert body == b"x"
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(serve_within(30, client, 10, work))
        await begun.wait()
        await until(lambda: client.asked == 2 + more)
        client.left.set()
        with pytest.raises(ClientGone):
            await asyncio.wait_for(task, 50)
        assert task.cancelling() == 0

    asyncio.run(story())


def test_work_is_dropped_when_its_time_is_over_and_cancelled_by_others_it_says_so():
    async def story():
        begun = asyncio.Event()

        async def work(_):
            begun.set()
            await asyncio.sleep(60)

        with pytest.raises(TimeoutError):
            await serve_within(0.02, Client(BODY), 10, work)
        with pytest.raises(TimeoutError):
            await serve_within(0.02, Client(), 10, work)  # whose body never comes
        begun.clear()
        task = asyncio.create_task(serve_within(30, Client(BODY), 10, work))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await serve_within(0.02, client := Client(BODY), 10, lambda _: asyncio.sleep(0))
        client.left.set()
        await asyncio.sleep(0.05)  # neither its time nor its client ends what has ended

    asyncio.run(story())
