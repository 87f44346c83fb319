"""Write docs/reference/gateway-settings.md from the models that a settings file is checked by.

Usage: python -m tools.settings_page
"""

from pathlib import Path

from novarag.gateway.settings import GatewaySettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "gateway-settings.md"

INTRO = """# The gateway's settings

Every key of the file that `novarag gateway serve FILE` reads, with its default. Written by `make openapi-docs` from the models that the file is checked by; `novarag gateway serve FILE --check` names all faults of a file at once. [The gateway](../gateway.md) shows a whole file. Times are in seconds. Keys of clients and of servers never stand in it: the first are hashes, the second names of environment variables.
"""

PARTS = {
    "[listen]": ("ListenSettings", {
        "host": "the address that it listens at",
        "port": "0 takes any free one",
    }),
    "[upstreams.NAME]": ("UpstreamSettings", {
        "url": "of a server with OpenAI's chat completions, with its `/v1`",
        "key_env": "the variable that has its key",
        "timeout": "for one request to it",
        "in_flight": "requests that it gets at once; more are turned away with 503",
        "failures": "in a row that open its breaker",
        "cooldown": "before one request is let through an open breaker",
    }),
    "[models.NAME]": ("ModelSettings", {
        "upstream": "which server has it",
        "name": "as that server calls it",
        "strategy": "the prompt, by its name: `nova`, `vanilla`, `cot` or another of the package",
        "mode": "decide before the user sees anything, or stream and tell at the end",
        "calibration": "a file of `novarag calibrate`; without it the confidence is as stated",
        "gate": "a file of `novarag gate`; without it policies alone decide",
        "other_source": "take a calibration or gate that was made for another model or prompt",
        "structured": "replies are held to their form by a pattern, where the server can (vLLM);"
        " the first request finds out",
        "frame": "labels that no passage can know, other ones for each request",
        "search": "where passages come from when a request brings none",
        "max_tokens": "of a reply; a client's own limit is raised by what the form takes",
        "policy": "what is done by the state of the evidence, below",
        "sources": "in order of preference, for `prefer-source`",
        "escalate_to": "the model that `escalate` asks",
    }),
    "[models.NAME.policy]": ("Policy", {
        "consistent": "passages support one answer",
        "conflicting": "passages support several",
        "insufficient": "no passage supports any",
        "unjudged": "the strategy judges no passages",
        "unread": "the reply could not be read",
    }),
    "[searches.NAME]": ("SearchSettings", {
        "url": "of a search server; either this or `index`",
        "index": "of Milvus: a file of `novarag retrieval index`, or a server's address",
        "key_env": "the variable that has its key",
        "k": "passages that are taken",
        "timeout": "for one search",
    }),
    "[texts]": ("ReplyTexts", {
        "abstain": "said instead of an answer that is withheld",
        "clarify": "said instead, by the policy `clarify`",
        "unread": "said where the reply could not be read",
    }),
    "[limits]": ("LimitSettings", {
        "body": "bytes of a request",
        "passages": "of a request",
        "question": "characters of a question",
        "passage": "characters of a passage",
        "reply": "bytes of an upstream's reply",
        "deadline": "for a request, all in",
        "in_flight": "requests at once in this process; more are turned away with 503",
        "connections": "open at once in this process, asking or not; in a full room the one that has waited longest is closed",
        "headers": "from the first byte of a request until its headers are whole",
        "drain": "for what is in flight, after SIGTERM",
        "rate": "below",
    }),
    "[limits.rate]": ("RateLimits", {
        "requests": "a minute and tenant, in this process",
        "tokens": "a minute and tenant, in this process",
        "tenants": "`[limits.rate.tenants.NAME]`: tenants with limits of their own",
    }),
    "[access]": ("AccessSettings", {
        "required": "whether a key is needed; where nothing is said, if there are `[keys]` or other machines can reach it",
        "reread": "how often keys of the audit's database are read",
    }),
    "[keys.NAME]": ("TenantKeys", {
        "sha256": "hashes of the keys, several while they are changed",
        "tenant": "whose they are; else NAME",
        "scopes": "what they may be used for",
        "expires": "a day or a time, UTC where it names no zone",
        "note": "for whoever reads the file",
    }),
    "[telemetry]": ("TelemetrySettings", {
        "otlp": "the address of an OTLP receiver over HTTP, without its `/v1/traces`",
        "service": "the name in its traces",
        "sample": "the share of requests with spans, where the client's own trace says nothing",
    }),
    "[logs]": ("LogSettings", {"requests": "a line for every request, not for failures alone"}),
    "[audit]": ("AuditSettings", {
        "database_env": "the variable that has the address of the PostgreSQL database",
        "spool": "a folder on this machine, from the settings file",
        "spool_limit": "bytes that may wait there for the database",
        "when_full": "answer without a row, counted as lost, or refuse requests",
        "keep_texts": "keep questions, passages and answers, not digests alone",
        "digest_key_env": "the variable with the key of digests",
        "days": "how far back feedback is taken, and what `drop` leaves",
    }),
}  # fmt: skip
"""By the heading of a part: the model that checks it, and what its keys are for."""


def make_page() -> str:
    """Return the page; a key without a meaning, or the other way round, is an error."""
    schemas = GatewaySettings.model_json_schema()["$defs"]
    missing = {n for n, s in schemas.items() if "properties" in s} - {n for n, _ in PARTS.values()}
    if missing - {"RateLimit"}:  # that of one tenant is in the part of all
        raise ValueError(f"no part has {missing}")
    return "\n".join([INTRO, *(_part(title, schemas, *PARTS[title]) for title in PARTS)])


def _part(title, schemas, name, meanings):
    known = schemas[name]["properties"]
    if set(known) != set(meanings):
        raise ValueError(f"{title}: {set(known) ^ set(meanings)}")
    needed = schemas[name].get("required", [])
    rows = [f"## `{title}`\n", "| key | value | default | |", "|---|---|---|---|"]
    for key, entry in known.items():
        default = "needed" if key in needed else _shown(entry.get("default"))
        rows.append(f"| `{key}` | {_kind(entry, schemas)} | {default} | {meanings[key]} |")
    return "\n".join(rows) + "\n"


def _shown(value):
    """Show a default as the file has it."""
    if value is None or value in ({}, []) or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(_shown(one) for one in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else ""


def _kind(entry, schemas):
    if "$ref" in entry:
        name = entry["$ref"].rsplit("/", 1)[1]
        if name == "Action":
            return "a [policy](../gateway.md#policies)"
        return "a part" if "properties" in schemas[name] else _kind(schemas[name], schemas)
    if "anyOf" in entry:
        kinds = (_kind(one, schemas) for one in entry["anyOf"] if one.get("type") != "null")
        return " or ".join(kinds)
    if "enum" in entry:
        return ", ".join(f"`{word}`" for word in entry["enum"])
    if entry.get("type") == "array":
        return f"list of {_kind(entry['items'], schemas)}"
    return _bounded(entry)


def _bounded(entry):
    words = {"boolean": "`true` or `false`", "string": "text", "object": "parts"}
    kind = words.get(entry["type"], entry["type"])
    low = entry.get("minimum", entry.get("exclusiveMinimum"))
    high = entry.get("maximum")
    if low is None or high is None:
        return kind
    return f"{kind}, {'over ' if 'exclusiveMinimum' in entry else ''}{low:,} to {high:,}"


if __name__ == "__main__":
    PAGE.write_text(make_page(), "utf-8")
