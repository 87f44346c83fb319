"""What real clients are put through: the cases once, and what each client is able to see.

A case is a situation, streamed or not, in a mode. Drivers get the cases as JSON, ask, and print
for each what their user sees. Nothing here imports a client.
"""

from dataclasses import asdict, dataclass

PASSAGES = ["The lamp was lit in 1871.", "Bread rises slowly."]
SYSTEM = "Answer in one word."
ANSWER = "Zürich – “7” <b>&amp;</b> 日本 {novarag}"
HELLO = 'Hello, {"unchanged"} – ünïcode, 日本.\n\n  Two lines. '
ABSTAINED = "We would rather not say."
UNREAD = "Nobody could read that."


@dataclass(frozen=True)
class Situation:
    """A question, and what must come of it."""

    question: str
    text: str | None = "1871"
    decision: str | None = "answer"
    confidence: float | None = 0.9
    evidence: str | None = "consistent"
    status: int = 200
    passages: bool = True
    system: bool = False


SITUATIONS = {
    "answer": Situation("In which year was the lamp lit?"),
    "odd text": Situation("What does the odd sign say?", text=ANSWER),
    "abstain": Situation(
        "How deep is the well?", text=ABSTAINED, decision="abstain", confidence=0.4,
        evidence="insufficient",
    ),
    "unread": Situation(
        "What does the parrot say?", text=UNREAD, decision="abstain", confidence=None,
        evidence=None,
    ),
    "cut": Situation("Who cut the rope?", text=None, decision=None, status=502),
    "full": Situation("Is the ferry full?", text=None, decision=None, status=429),
    "passed on": Situation(
        "Say hello.", text=HELLO, decision=None, confidence=None, evidence=None, passages=False
    ),
    "system": Situation("In which year, by the system?", system=True),
}  # fmt: skip
MODES = ("enforce", "annotate")


@dataclass(frozen=True)
class Case:
    """One request of a client."""

    situation: str
    stream: bool
    mode: str

    @property
    def name(self):
        return f"{self.situation}, {'streamed' if self.stream else 'whole'}, {self.mode}"

    @property
    def expected(self):
        return SITUATIONS[self.situation]

    @property
    def text(self):
        """What the screen must show; a live answer cannot be taken back when it is judged poor."""
        live = self.stream and self.mode == "annotate" and self.situation == "abstain"
        return "1871" if live else self.expected.text

    def asked(self):
        """Write what a driver needs to know, and nothing of what must come of it."""
        told = self.expected
        return asdict(self) | {
            "name": self.name,
            "question": told.question,
            "passages": PASSAGES if told.passages else None,
            "system": SYSTEM if told.system else None,
        }


CASES = [
    Case(situation, stream, mode)
    for situation in SITUATIONS
    for stream in (False, True)
    for mode in MODES
]


@dataclass(frozen=True)
class Client:
    """A client's driver, and what its users can see: our object, and headers (see GATEWAY)."""

    command: tuple[str, ...]
    whole: bool
    streamed: bool
    headers: bool


PYTHON, NODE = "python", "node"
CLIENTS = {
    "curl": Client((PYTHON, "drive_curl.py"), whole=True, streamed=True, headers=True),
    "openai-py": Client((PYTHON, "drive_openai.py"), whole=True, streamed=True, headers=True),
    "langchain": Client((PYTHON, "drive_langchain.py"), whole=True, streamed=True, headers=True),
    "llama-index": Client(
        (PYTHON, "drive_llama_index.py"), whole=True, streamed=True, headers=False
    ),
    "litellm": Client((PYTHON, "drive_litellm.py"), whole=True, streamed=True, headers=True),
    "haystack": Client((PYTHON, "drive_haystack.py"), whole=False, streamed=False, headers=False),
    "pydantic-ai": Client(
        (PYTHON, "drive_pydantic_ai.py"), whole=False, streamed=False, headers=False
    ),
    "openai-node": Client((NODE, "drive_openai.mjs"), whole=True, streamed=True, headers=True),
    "vercel-ai": Client((NODE, "drive_vercel.mjs"), whole=True, streamed=True, headers=True),
}


def judge(client, case, seen):
    """Say what is wrong with what the user of a client saw; nothing where all is as it must be.

    `seen` has the text on the screen, our object (or None), headers (or None) and the error.
    """
    told, able = case.expected, CLIENTS[client]
    wrong = []
    if told.text is None:
        wrong += _judge_failure(case, seen)
        return wrong
    if seen["error"] is not None:
        return [f"an error: {seen['error']}"]
    if seen["text"] != case.text:
        wrong.append(f"the screen shows {seen['text']!r}, not {case.text!r}")
    ours = told.decision is not None
    if ours and (able.streamed if case.stream else able.whole):
        wrong += _judge_object(told, seen["novarag"])
    if not ours and seen["novarag"] is not None:
        wrong.append("what was passed on carries a verdict")
    if able.headers:
        wrong += _judge_headers(case, seen["headers"] or {})
    return wrong


def _judge_failure(case, seen):
    """A failure is an error for the user, never a verdict, and never more text than the answer."""
    wrong = [] if seen["error"] is not None else ["the failure was not noticed"]
    if seen["novarag"] is not None:
        wrong.append("a failure carries a verdict")
    if seen["text"] not in {"", "1871"}:
        wrong.append(f"the screen shows {seen['text']!r}")
    live = case.stream and case.mode == "annotate" and case.situation == "cut"
    status = (seen["error"] or {}).get("status")
    if not live and status not in {case.expected.status, None}:
        wrong.append(f"status {status}, not {case.expected.status}")
    return wrong


def _judge_object(told, found):
    if found is None:
        return ["there is no verdict"]
    named = ("decision", "confidence", "evidence")
    return [
        f"{name} is {found.get(name)!r}, not {getattr(told, name)!r}"
        for name in named
        if found.get(name) != getattr(told, name)
    ]


def _judge_headers(case, headers):
    told = case.expected
    if told.decision is None:
        return _missing(headers, {"decision": "none", "reason": "no passages"})
    if case.stream and case.mode == "annotate":
        return [] if "x-novarag-id" in headers else ["there is no id in the headers"]
    said = {"decision": told.decision, "evidence": told.evidence}
    said["confidence"] = None if told.confidence is None else str(told.confidence)
    return _missing(headers, said)


def _missing(headers, said):
    found = {name: headers.get(f"x-novarag-{name}") for name in said}
    return [] if found == said else [f"the headers say {found}, not {said}"]
