"""Write docs/reference/openapi.json, and the page beside it. Usage: python -m tools.openapi_page"""

from pathlib import Path

from novarag.gateway.http.openapi import PROBLEMS, document_bytes, make_document

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
DOCUMENT = FOLDER / "openapi.json"
PAGE = FOLDER / "gateway-routes.md"

INTRO = """# The gateway's routes

Written by `make openapi-docs` from the models that requests are checked by. The same as a document of OpenAPI 3.1: [openapi.json](openapi.json), which every gateway serves at `/openapi.json`. [The gateway](../gateway.md) says what they are for.

Where the settings ask for keys, send `Authorization: Bearer KEY`.
"""


def make_page() -> str:
    document = make_document()
    parts = [INTRO]
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            parts.append(_route(method, path, entry, document["components"]["schemas"]))
    parts.append("## Statuses\n\n| status | meaning |\n|---|---|")
    parts[-1] += "".join(f"\n| {status} | {about} |" for status, about in PROBLEMS.items()) + "\n"
    parts.append(_objects(document["components"]["schemas"], "Verdict", "PassageVerdict"))
    return "\n".join(parts)


def _route(method, path, entry, schemas):
    lines = [f"## {method.upper()} {path}\n", f"{entry['summary']}."]
    if "description" in entry:
        lines[-1] += f" {entry['description']}"
    if "requestBody" in entry:
        lines += ["", _fields(schemas, _model(entry["requestBody"]))]
    statuses = [status for status in entry["responses"] if status != "4XX"]
    lines += ["", f"Replies: {', '.join(statuses)}.", ""]
    return "\n".join(lines)


def _model(body):
    return body["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]


def _objects(schemas, *names):
    return "\n".join(
        f"## {name}\n\n{schemas[name]['description']}\n\n{_fields(schemas, name)}\n"
        for name in names
    )


def _fields(schemas, name):
    schema = schemas[name]
    needed = schema.get("required", [])
    rows = ["| field | kind | |", "|---|---|---|"]
    for field, entry in schema["properties"].items():
        about = entry.get("description") or ("needed" if field in needed else "")
        rows.append(f"| `{field}` | {_kind(entry)} | {about} |")
    return "\n".join(rows)


def _kind(entry):
    if "anyOf" in entry:
        return " or ".join(_kind(one) for one in entry["anyOf"])
    if "$ref" in entry:
        return entry["$ref"].rsplit("/", 1)[1]
    if "enum" in entry or "const" in entry:
        return ", ".join(f"`{word}`" for word in entry.get("enum", [entry.get("const")]))
    if entry.get("type") == "array" and "items" in entry:
        return f"list of {_kind(entry['items'])}"
    return str(entry.get("type", "anything"))


if __name__ == "__main__":
    DOCUMENT.write_bytes(document_bytes())
    PAGE.write_text(make_page(), "utf-8")
