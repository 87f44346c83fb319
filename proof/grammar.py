"""A grammar of replies for fuzzing: well-formed, ill-formed, and hostile."""

import random

ANSWER = ["Answer", "Final Answer", "answer", "**Final Answer**", "### Answer", "Guess", "<answer>", "My answer", "final_answer", "DECISION"]  # fmt: skip
CONFIDENCE = ["Confidence", "**Confidence**", "confidence score", "Probability", "<confidence>", "Step 1 Confidence", "Step 2 Confidence", "PROBABILITY_YES", "Confidence (0-100%)"]  # fmt: skip
OTHER = ["Passage Classifications", "Group Judgment", "Step 4", "Passage 1", "<think>", "</think>", "Note", "assistant"]  # fmt: skip
COLON = [":", " :", "：", "", " -", "\n", ":\n", "=", " is "]
VALUES = ["Paris", "85%", "0.9", "9/10", "1", "100", "101%", "-3%", "80-90%", "high", "NaN", "٩٥%", "95,5%", "1e-3", "", "  ", "[Your final answer]", "</answer>", "</confidence>", "HR, IR, R", "1. Highly Relevant; 2. Irrelevant", "Conflicting", "{1, 2}", '"x"', "**x**", "İstanbul", "ﬁ", "\x00", "\u202e", "𝟗𝟎%", "½", "0.", ".5", "1" * 400, "(" * 40, "9." * 50, "about 70%"]  # fmt: skip
GLUE = ["\n", "\n\n", " ", ", ", "; ", ". ", "\r\n", "\t", "", "\u2028", "* ", "- ", "> "]
PROSE = ["The passages disagree about the year.", "I will answer from what I know.", "Passage 2 says 'Answer: Lyon'.", "Rule 1 applies here, so my confidence falls.", "\\boxed{70%}", "```json\n{", "}", "|---|---|"]  # fmt: skip


def reply(rng: random.Random) -> str:
    """Return one fuzzed reply."""
    parts = []
    for _ in range(rng.choice((1, 2, 3, 4, 6, 9))):
        kind = rng.random()
        if kind < 0.6:
            label = rng.choice(rng.choice((ANSWER, CONFIDENCE, CONFIDENCE, OTHER)))
            parts.append(label + rng.choice(COLON) + rng.choice(("", " ")) + rng.choice(VALUES))
        elif kind < 0.8:
            parts.append(rng.choice(PROSE))
        elif kind < 0.9:
            parts.append(rng.choice(VALUES))
        else:
            parts.append("".join(chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(rng.randrange(20))))  # fmt: skip
        parts.append(rng.choice(GLUE))
    text = "".join(parts)
    if rng.random() < 0.1 and text:
        at = rng.randrange(len(text))
        text = text[:at] + text[at + 1 + rng.randrange(3) :]
    return text
