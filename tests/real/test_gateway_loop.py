"""The loop closed on a real PostgreSQL: answers, feedback, a proposal, adopted, live on SIGHUP."""

import asyncio
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from novarag import adopt_proposal, drop_audit, export_audit, forget_tenant, load_calibration
from novarag.errors import DataError, StorageError, UsageError
from novarag.gateway.admin.propose import propose_calibration, propose_gate
from novarag.gateway.observe import status
from tests.support.audited import VARIABLE, audit, row
from tests.support.calibrations import NOVA, write_calibration
from tests.support.databases import asked, recorded, said
from tests.support.gateways import REPLY, Upstream, ask, fronted, post, served
from tests.support.postgres import program

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed"),
]
COMMAND = [sys.executable, "-c", "from novarag.cli import main; main()"]
AUDIT = '[audit]\nspool = "spool"\n'


def reply(body):
    """Answer a question by its number: states and confidences as a model that overstates."""
    number = int(re.findall(r"number (\d+)", body["messages"][-1]["content"])[-1])
    drawn = random.Random(number)
    state = drawn.choices(["Consistent", "Conflicting", "Insufficient"], [6, 2, 2])[0]
    stated = drawn.choice([70, 90, 100])
    text = REPLY.replace("Group Judgment: Consistent", f"Group Judgment: {state}")
    return text.replace("90%", f"{stated}%")


def is_right(number, stated):
    return random.Random(f"truth {number}").random() < 0.6 * stated


def question(number):
    return ask(messages=[{"role": "user", "content": f"What is number {number}?"}])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def run(*words):
    """Run a verb; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *map(str, words), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode, " ".join(out.decode().split())


async def judged(client, numbers):
    """Ask questions and say of each answer whether it was right; return the last reply."""
    for number in numbers:
        _, _, answer = await post(client, question(number))
        told = answer["novarag"]
        verdict = "right" if is_right(number, told["stated"]) else "wrong"
        feedback = {"id": told["id"], "verdict": verdict}
        assert (await post(client, feedback, "/v1/feedback"))[0] == 200
    return told


async def arrived(dsn, rows):
    for _ in range(600):
        found = await asyncio.to_thread(asked, dsn, "select count(*) from feedback")
        if found == [(rows,)]:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{found} and not {rows} rows of feedback")


async def reloaded(process, client, before):
    """Send SIGHUP, and wait until another version of the settings answers."""
    process.send_signal(signal.SIGHUP)
    for number in range(10_000, 10_400):
        _, _, answer = await post(client, question(number))
        if answer["novarag"]["settings"] != before:
            return answer["novarag"]
        await asyncio.sleep(0.02)
    raise AssertionError("the settings were never read again")


def test_feedback_becomes_a_calibration_that_goes_live(monkeypatch, tmp_path, dsn):
    monkeypatch.setenv(VARIABLE, dsn)
    path, port = tmp_path / "gateway.toml", free_port()

    async def story():
        async with served(Upstream(reply)) as url:
            text = (
                f'[listen]\nport = {port}\n[upstreams.main]\nurl = "{url}"\n{AUDIT}'
                '[models.support]\nupstream = "main"\nname = "llama"\n'
            )
            path.write_text(text)
            process = await asyncio.create_subprocess_exec(
                *COMMAND, "gateway", "serve", str(path), stdout=asyncio.subprocess.DEVNULL
            )
            try:
                async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
                    await _answering(client)
                    await _loop(client, process, text)
            finally:
                process.terminate()
                await process.wait()

    async def _loop(client, process, text):
        told = await judged(client, range(150))
        assert told["calibrated"] is False
        await arrived(dsn, 150)
        code, out = await run("gateway", "propose", path, "--served", "support")
        assert code == 0, out
        assert "better than stated confidences: Brier score" in out
        assert "answers that were held back are never judged" in out
        assert "gateway adopt" in out
        assert (tmp_path / "support.calibration.proposed.json").exists()
        code, out = await run("gateway", "adopt", path, "--served", "support")
        assert code == 0, out
        assert 'add to [models.support]: calibration = "support.calibration.json"' in out
        assert "SIGHUP" in out
        path.write_text(text + 'calibration = "support.calibration.json"\n')
        live = await reloaded(process, client, told["settings"])
        assert live["calibrated"] is True
        assert live["interval"] is not None
        assert live["confidence"] < live["stated"]
        await _second_round(client, process, live)

    async def _second_round(client, process, live):
        first = (tmp_path / "support.calibration.json").read_bytes()
        drift = (await _status(client))["models"][0]["drift"]
        assert drift["state"] == "quiet"
        assert drift["reference"] == 150  # all answers, judged or not
        (counted,) = (await _feedback(client))["models"]
        assert counted["answers"] == 150
        assert counted["right"] == sum(is_right(n, random_stated(n)) for n in range(150))
        await judged(client, range(200, 260))
        await arrived(dsn, 210)
        code, out = await run("gateway", "propose", path, "--served", "support")
        assert code == 0, out
        assert "better than the calibration in force: Brier score" in out, out
        assert "fitted on the questions of 150 of these 210 answers" in out
        assert (tmp_path / "support.calibration.json").read_bytes() == first  # nothing is live yet
        code, out = await run("gateway", "adopt", path, "--served", "support")
        assert code == 0, out
        assert (tmp_path / "support.calibration.before-1.json").read_bytes() == first
        again = await reloaded(process, client, live["settings"])
        assert again["calibrated"] is True

    asyncio.run(story())


def random_stated(number):
    return int(re.findall(r"Confidence: (\d+)%", reply(question(number)))[0]) / 100


async def _answering(client):
    for _ in range(600):
        try:
            async with client.get("/readyz") as response:
                if response.status == 200:
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.05)
    raise AssertionError("the gateway never answered")


async def _status(client):
    async with client.get("/status.json") as response:
        assert response.status == 200
        return await response.json()


async def _feedback(client):
    """Look until feedback is counted: by a task, never by the look itself."""
    for _ in range(200):
        found = (await _status(client))["feedback"]
        if found["said"] != status.NOT_YET and found["models"]:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(found)


# --- proposals ------------------------------------------------------------------------------------


def settings_file(folder, model=""):
    path = folder / "gateway.toml"
    path.write_text(
        f'[upstreams.main]\nurl = "http://127.0.0.1:1/v1"\n{AUDIT}'
        f'[models.support]\nupstream = "main"\nname = "llama"\n{model}'
    )
    return path


def fill(monkeypatch, folder, dsn, n=120, **more):
    """Record answers that are judged, and some that are not."""
    from novarag.gateway.audit.rows import TextRecord

    draw, kept = random.Random(1), []
    for i in range(n):
        stated = draw.choice([0.7, 0.9, 1.0])
        evidence = draw.choice(["consistent", "conflicting", "insufficient"])
        facts = {"prompt": NOVA, "stated": stated, "evidence": evidence}
        one = row(texts=TextRecord(question_digest=i), **(facts | more))
        kept += [one, said(one.id, "right" if draw.random() < 0.6 * stated else "wrong")]
    recorded(audit(monkeypatch, folder, dsn), kept)


def test_a_gate_is_proposed_on_what_is_in_force_and_adopted_with_a_calibration(
    monkeypatch, tmp_path, dsn
):
    fill(monkeypatch, tmp_path, dsn, 300)
    write_calibration(tmp_path / "c.json", seed=5)
    path = settings_file(tmp_path, 'calibration = "c.json"\ngate = "g.json"\n')
    made = propose_gate(path, served="support", risk=0.75)
    assert made.threshold is not None
    shutil.copy(tmp_path / "g.proposed.json", tmp_path / "g.json")
    (tmp_path / "g.proposed.json").unlink()
    propose_calibration(path, served="support")
    with pytest.raises(UsageError, match="does not fit what stays in force"):
        adopt_proposal(path, served="support")
    both = propose_gate(path, served="support", risk=0.75, split=tmp_path / "c.proposed.json")
    assert both.score != made.score
    assert load_calibration(tmp_path / "c.proposed.json").reference.rows == 300
    adopted = adopt_proposal(path, served="support")
    assert [f.name for f in adopted.files] == ["c.json", "g.json"]
    assert [f.name for f in adopted.kept] == ["c.before-1.json", "g.before-1.json"]
    assert adopted.missing == ()
    assert not list(tmp_path.glob("*.proposed.json"))
    with pytest.raises(UsageError, match="nothing is proposed"):
        adopt_proposal(path, served="support")


def test_what_is_of_another_model_is_left_out_and_not_adopted(monkeypatch, tmp_path, dsn):
    path = settings_file(tmp_path)
    fill(monkeypatch, tmp_path, dsn, 40, served="older")
    with pytest.raises(DataError, match="none of the 40 judged answers"):
        propose_calibration(path, served="support")
    fill(monkeypatch, tmp_path, dsn, 40)
    made = propose_calibration(path, served="support")
    assert made.calibration.fitted.rows == 40
    write_calibration(made.path, model="older")
    with pytest.raises(UsageError, match="of the model 'older'"):
        adopt_proposal(path, served="support")
    with pytest.raises(UsageError, match="no model 'nobody'"):
        propose_calibration(path, served="nobody")
    with pytest.raises(UsageError, match="before"):
        propose_calibration(path, served="support", since="2026-02-01", until="2026-01-01")
    with pytest.raises(UsageError, match="must be a day"):
        propose_calibration(path, served="support", since="soon")
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    with pytest.raises(DataError, match="has feedback"):
        propose_calibration(path, served="support", since=tomorrow, until=tomorrow)


def test_where_policies_asked_again_drift_is_not_watched(monkeypatch, tmp_path, dsn):
    path = settings_file(tmp_path)
    fill(monkeypatch, tmp_path, dsn, 40)
    assert propose_calibration(path, served="support").calibration.reference.rows == 40
    fill(monkeypatch, tmp_path, dsn, 1, action="prefer-recent")
    made = propose_calibration(path, served="support")
    assert made.calibration.reference is None
    assert any("drift is not watched" in note for note in made.notes)


# --- retention, and a database that is away -------------------------------------------------------


def test_the_doors_of_retention(monkeypatch, tmp_path, dsn):
    path = settings_file(tmp_path)
    fill(monkeypatch, tmp_path, dsn, 3)
    today, out = datetime.now(UTC).date(), tmp_path / "exports"
    assert [f.rows for f in export_audit(path, str(today), out=out)] == [3, 3]
    assert drop_audit(path, before=today, out=out) == []
    with pytest.raises(UsageError, match="not over yet"):
        drop_audit(path, before=today + timedelta(days=2), out=out)
    assert forget_tenant(path, "acme", exports=out) == 12
    assert asked(dsn, "select count(*) from decisions") == [(0,)]

    async def verbs():
        refused = await run("gateway", "audit", "forget", path, "acme")
        assert refused[0] == 2
        assert "nothing was done" in refused[1]
        done = await run("gateway", "audit", "forget", path, "acme", "--yes")
        assert done == (0, "0 rows of acme were deleted")
        code, said_ = await run("gateway", "audit", "export", path, today, "--out", out)
        assert (code, said_.count(": 0 rows")) == (0, 2)
        code, said_ = await run("gateway", "audit", "drop", path, "--before", today, "--out", out)
        assert code == 2

    asyncio.run(verbs())


def test_a_database_that_is_away_or_empty_is_said_in_one_line(monkeypatch, tmp_path, dsn):
    path = settings_file(tmp_path)
    monkeypatch.setenv(VARIABLE, dsn)
    with pytest.raises(StorageError, match="holds no audit yet"):
        propose_calibration(path, served="support")
    monkeypatch.setenv(VARIABLE, "postgresql://novarag@127.0.0.1:1/none")
    with pytest.raises(StorageError, match="cannot be reached"):
        export_audit(path, "2026-01-01", out=tmp_path)
    monkeypatch.setenv(VARIABLE, dsn.rpartition("/")[0] + "/nothing")
    with pytest.raises(StorageError, match="refused"):
        forget_tenant(path, "acme")


def test_the_status_page_says_that_the_database_is_away_and_that_nobody_judged(
    monkeypatch, tmp_path, dsn
):
    monkeypatch.setenv(VARIABLE, dsn)

    async def story():
        async with fronted(tmp_path, Upstream(), tail=AUDIT) as client:
            assert (await _status(client))["feedback"]["said"] == status.NOT_YET
            monitor = client.server.config.app.state.monitor
            for _ in range(200):
                found = await _status(client)
                if found["feedback"]["said"] == status.NO_FEEDBACK:
                    break
                await asyncio.sleep(0.05)
            assert found["feedback"]["said"] == status.NO_FEEDBACK
            counted = monitor._counted_at
            await _status(client)
            await asyncio.sleep(0.1)
            assert monitor._counted_at == counted  # at most once a minute, however often one looks
            monkeypatch.setenv(VARIABLE, "postgresql://novarag@127.0.0.1:1/none")
            monitor._counted_at = None
            for _ in range(200):
                found = await _status(client)
                if found["feedback"]["said"] == status.AWAY:
                    break
                await asyncio.sleep(0.05)
            assert found["feedback"]["said"] == status.AWAY
            assert json.dumps(found)

    asyncio.run(story())
    assert os.environ[VARIABLE].endswith("none")
