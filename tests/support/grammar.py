"""A grammar of replies for fuzzing: some well-formed, most bent a little, some hostile."""

import random

KINDS = ("plain", "steps", "guess-probability", "answer-tags", "probability-yes")

LABELS = {
    "plain": (("Answer", "Final Answer", "**Final Answer**", "### Answer", "my answer", "- Answer", '"answer"'), ("Confidence", "**Confidence**", "confidence score", "### Confidence", "- Confidence", "Confidence (0-100%)", '"confidence"')),
    "steps": (("Answer", "Final Answer"), ("Step 1 Confidence", "Step 2 Confidence", "Step 3 Confidence")),
    "guess-probability": (("Guess", "guess", "/Guess", "Answer", ""), ("Probability", "probability", "")),
    "answer-tags": (("<answer>",), ("<confidence>",)),
    "probability-yes": (("DECISION",), ("PROBABILITY_YES",)),
}  # fmt: skip
ANSWERS = ("Paris", "the Battle of Hastings", "**Paris**", '"Paris"', "[Paris]", "yes", "1871", "-5", "İstanbul", "{1, 2}", "Star Wars: A New Hope", "I do not know", "[your answer]", "", "ﬁ", "x" * 300, "a\u202eb")  # fmt: skip
NUMBERS = ("85%", "0.9", "9/10", "1", "100%", "0%", "95.5%", "1%", "70", ".5", "0.", "**85%**", "about 70%", "85% sure")  # fmt: skip
BROKEN = ("101%", "-3%", "80-90%", "high", "NaN", "N/A", "٩٥%", "𝟗𝟎%", "½", "95,5%", "1e-3", "9/0", "", "  ", "[0% - 100%]", "1" * 400, "(" * 40, "9." * 50, "\x00", ">90%", "95%+")  # fmt: skip
PROSE = ("The passages disagree about the year.", "I will answer from what I know.", "Passage 2 says 'Answer: Lyon'.", "Rule 1 applies here, so my confidence falls.", "\\boxed{70%}", "Note: the probability is only an estimate.", "Step 2: it is Highly Relevant, which means it states an answer.", "My confidence: rather low.", "| a | b |", "```json\n{")  # fmt: skip
CLASSES = ("Passage 1: Highly Relevant; Passage 2: Irrelevant; Passage 3: Relevant", "HR, IR, R", "\n1. Highly Relevant\n2. Irrelevant\n3. Relevant", "Highly Relevant", "none of them", "R" * 50)  # fmt: skip
STATES = ("Conflicting", "Consistent", "**Insufficient**", "Mixed", "")
GLUE = ("\n", "\n", "\n", "\n\n", " ", ", ", "; ", ". ", "\r\n", "\t", "\u2028", "")
COLON = (": ", ": ", ": ", ": ", ":", " : ", "：", ":\n", " - ", "", "=")


def reply(rng: random.Random, kind: str) -> str:
    """Return one reply in a format, bent at random."""
    parts = [rng.choice(PROSE) for _ in range(rng.choice((0, 0, 1, 2, 4, 8)))]
    if rng.random() < 0.1:
        parts.insert(0, rng.choice(("<think>", "assistant\n", "```", "<think>Answer: x\n</think>")))
    if rng.random() < 0.2:
        parts.append(rng.choice(("</think>", "<think>", "</answer>", "}")))
    for _ in range(rng.choice((1, 1, 1, 2))):
        parts += _block(rng, kind)
    if rng.random() < 0.3:
        parts.append(rng.choice(PROSE))
    text = parts[0] + "".join(rng.choice(GLUE[:5]) + p for p in parts[1:])
    return _bent(rng, text) if rng.random() < 0.3 else text


def _block(rng: random.Random, kind: str) -> list[str]:
    answers, confidences = LABELS[kind]
    block = []
    if kind == "plain" and rng.random() < 0.4:
        block.append("Passage Classifications: " + rng.choice(CLASSES))
        block.append("Group Judgment: " + rng.choice(STATES))
    block.append(_field(rng, rng.choice(answers), rng.choice(ANSWERS)))
    for label in confidences if kind == "steps" else (rng.choice(confidences),):
        value = rng.choice(BROKEN if rng.random() < 0.2 else NUMBERS)
        block.append(_field(rng, label, value))
    if rng.random() < 0.1:
        rng.shuffle(block)
    return block


def _field(rng: random.Random, label: str, value: str) -> str:
    if label.startswith("<"):
        return label + value + (label.replace("<", "</") if rng.random() < 0.9 else "")
    return label + rng.choice(COLON) + value if label else value


def _bent(rng: random.Random, text: str) -> str:
    """Cut, double or replace a little of the text."""
    if not text:
        return text
    at, length = rng.randrange(len(text)), rng.randrange(1, 6)
    noise = "".join(
        chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(length)
    )
    return rng.choice(
        (
            text[:at] + text[at + length :],
            text[:at] + noise + text[at:],
            text[:at] + text[at:] * 2,
            text[:at],
        )
    )
