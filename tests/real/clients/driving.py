"""What the drivers in Python share: cases in, what the user saw out. Standard library only."""

import json
import sys
from pathlib import Path


def ours(headers):
    """Pick our headers; some clients put a word before them."""
    found = {}
    for name, value in dict(headers).items():
        place = name.lower().find("x-novarag-")
        if place >= 0:
            found[name.lower()[place:]] = value
    return found


class Seen:
    """What the user of a client sees of one case."""

    def __init__(self, name):
        self.told = {"name": name, "text": "", "novarag": None, "headers": None, "error": None}

    def text(self, piece):
        self.told["text"] += piece or ""

    def novarag(self, found):
        if found is not None:
            self.told["novarag"] = found

    def headers(self, found):
        self.told["headers"] = ours(found)


def status_of(error):
    """Return the HTTP status that an error of a client tells, wherever it keeps it."""
    while error is not None:
        for name in ("status_code", "status"):
            found = getattr(error, name, None)
            if isinstance(found, int):
                return found
        error = error.__cause__
    return None


def drive(ask):
    """Run `ask(address, case, seen)` for every case, and print what was seen."""
    address, path = sys.argv[1:]
    cases = json.loads(Path(path).read_text("utf-8"))
    found = []
    for case in cases:
        seen = Seen(case["name"])
        try:
            ask(address, case, seen)
        except Exception as error:  # noqa: BLE001 - whatever the client raises is what is seen
            said = {"kind": type(error).__name__, "status": status_of(error)}
            seen.told["error"] = said | {"message": str(error)[:300]}
        found.append(seen.told)
    json.dump(found, sys.stdout)


def messages(case):
    """Write the messages of a case, as OpenAI has them."""
    system = [{"role": "system", "content": case["system"]}] if case["system"] else []
    return [*system, {"role": "user", "content": case["question"]}]


def extra_body(case):
    """Write our part of a request."""
    return {"novarag": {"passages": case["passages"]}} if case["passages"] else {}
