"""Rows and audits made up for tests."""

from novarag.gateway.audit.recorder import AuditRecorder
from novarag.gateway.audit.rows import AuditRow, TextRecord
from novarag.gateway.audit.settings import AuditSettings
from novarag.gateway.http.replies import draw_id
from tests.support.waiting import PATIENCE, until

VARIABLE = "NOVARAG_DATABASE"


def row(identity=None, **more):
    """Make the row of one answer."""
    facts = {
        "tenant": "acme", "model": "support", "answered": "support", "served": "llama",
        "upstream": "main", "prompt": "0123456789abcdef", "settings": "v1", "route": "chat",
        "mode": "enforce", "status": 200, "decision": "answer", "action": "answer",
        "evidence": "consistent", "stated": 0.9, "confidence": 0.81, "low": 0.75, "high": 0.875,
        "calibrated": True, "shown": True, "judgments": (1, 3), "prompt_tokens": 400,
        "reply_tokens": 60, "latency_ms": 12.5, "texts": TextRecord(11, 22, 33, 30, 900, 4),
    }  # fmt: skip
    return AuditRow(id=identity or draw_id(), **(facts | more))


def audit(monkeypatch, folder, dsn, **more):
    """Make an audit of a database, with its spool in a folder."""
    monkeypatch.setenv(VARIABLE, dsn)
    settings = AuditSettings(spool="spool", **more)
    return AuditRecorder(settings, folder=folder, pause=0.01)


async def settled(made, seconds=PATIENCE):
    """Wait until an audit has nothing waiting."""
    await until(lambda: not made.state().waiting, seconds)
