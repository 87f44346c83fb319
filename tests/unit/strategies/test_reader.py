"""A museum of ugly replies, after shapes seen in real model output."""

import time

import pytest

from novarag import EvidenceState, Flaw, Utility
from novarag.strategies import CLOSED_BOOK, FORMATS, MULTI_STEP, NOVA, STRATEGIES, Labels, read
from novarag.strategies.markup import without_edges

HR, R, IR = Utility.HIGHLY_RELEVANT, Utility.RELEVANT, Utility.IRRELEVANT

MUSEUM = [
    ("plain", "Final Answer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("bold", "**Final Answer:** Paris\n**Confidence:** 85%", "Paris", 0.85),
    ("bold label", "**Final Answer**: **Paris**\n**Confidence**: **85%**", "Paris", 0.85),
    ("headings", "### Final Answer\nParis\n\n### Confidence\n85%", "Paris", 0.85),
    ("heading with colon", "## Answer:\n\nParis\n## Confidence:\n85%", "Paris", 0.85),
    ("bullets", "- Answer: Paris\n- Confidence: 85%", "Paris", 0.85),
    ("numbered", "1. Answer: Paris\n2. Confidence: 85%", "Paris", 0.85),
    ("quoted", "> Answer: Paris\n> Confidence: 85%", "Paris", 0.85),
    ("one line", "Answer: Paris, Confidence: 85%", "Paris", 0.85),
    ("one line, semicolon", "Answer: Paris; Confidence: 85%.", "Paris", 0.85),
    ("one line, dash", "Answer: Paris - Confidence: 85%", "Paris", 0.85),
    ("json", '{"answer": "Paris", "confidence": 85}', "Paris", 0.85),
    ("json after blank lines", ' \n\n{"answer": "Paris", "confidence": 85}', "Paris", 0.85),
    ("json backwards", '{"confidence": 85, "answer": "Paris"}', "Paris", 0.85),
    ("json lines", '{\n  "final_answer": "Paris",\n  "confidence": "85%"\n}', "Paris", 0.85),
    ("full-width colon", "Answer\uff1aParis\nConfidence\uff1a85%", "Paris", 0.85),
    ("windows", "Answer: Paris\r\nConfidence: 85%\r\n", "Paris", 0.85),
    ("upper case", "FINAL ANSWER: PARIS\nCONFIDENCE: 85%", "PARIS", 0.85),
    ("score", "Answer: Paris\nConfidence Score: 85%", "Paris", 0.85),
    ("level", "Answer: Paris\nConfidence level: 85%", "Paris", 0.85),
    ("scale in brackets", "Answer: Paris\nConfidence (0-100%): 85%", "Paris", 0.85),
    ("my", "My answer: Paris\nMy confidence: 85%", "Paris", 0.85),
    ("no colon", "Answer: Paris\nConfidence 85%", "Paris", 0.85),
    ("dash for colon", "Answer: Paris\nConfidence \u2013 85%", "Paris", 0.85),
    ("brackets", "Answer: [Paris]\nConfidence: [85%]", "Paris", 0.85),
    ("confidence first", "Confidence: 85%\nAnswer: Paris", "Paris", 0.85),
    ("trailing talk", "Answer: Paris\nConfidence: 85%\n\nI hope this helps!", "Paris", 0.85),
    ("answer restated", "Answer: Paris\nConfidence: 85%\nSo the answer is Paris.", "Paris", 0.85),
    ("two blocks", "Answer: Paris\nConfidence: 85%\nOnce more.\nAnswer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("template echoed at the end", "Answer: Paris\nConfidence: 85%\nAnswer: [your answer]\nConfidence: [0% - 100%]", "Paris", 0.85),
    ("empty block at the end", "Answer: Paris\nConfidence: 85%\n\nAnswer:\nConfidence:", "Paris", 0.85),
    ("thought", "<think>Answer: Lyon\nConfidence: 5%</think>\nAnswer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("two thoughts", "<think>a</think>Answer: Lyon\nConfidence: 5%<think>b</think>Answer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("thought without a start", "so Answer: Lyon\nConfidence: 5%\n</think>\n\nAnswer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("steps", "Step 1: ...\nStep 4: The rule applies. Answer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("prose with the word", "My confidence: it grows. Answer well.\nAnswer: Paris\nConfidence: 85%", "Paris", 0.85),
    ("turkish i", "\u0130stanbul\nAnswer: \u0130stanbul\nConfidence: 85%", "\u0130stanbul", 0.85),
    ("negative answer", "Answer: -5\nConfidence: 85%", "-5", 0.85),
    ("set answer", "Answer: {1, 2}\nConfidence: 85%", "{1, 2}", 0.85),
    ("colon in the answer", "Answer: Star Wars: A New Hope\nConfidence: 85%", "Star Wars: A New Hope", 0.85),
    ("an aside before the line", "Answer: Paris\nPassage 2 alone would give confidence: 30%.\nConfidence: 85%", "Paris", 0.85),
    ("confidences of passages", "Answer: Paris\nPassage 1 confidence: 90%\nPassage 2 confidence: 20%\nConfidence: 85%", "Paris", 0.85),
    ("an aside in the answer", "Answer: Paris (passage 1 confidence: 60%)\nConfidence: 85%", "Paris (passage 1 confidence: 60%)", 0.85),
    ("json with a reason", '{"answer": "Paris", "reasoning": "Passage 2 says Lyon.", "confidence": 0.85}', "Paris", 0.85),
    ("json with another confidence", '{"answer": "Paris", "passage_confidence": 0.3, "confidence": 0.85}', "Paris", 0.85),
    ("json in a fence", '```json\n{"Answer": "Paris", "Confidence": "85%"}\n```', "Paris", 0.85),
    ("json, a number", '{"answer": 42, "confidence": 85}', "42", 0.85),
    ("json cut off", '{"answer": "Paris", "why": "a", "confidence": 85', "Paris", 0.85),
    ("keys", "final_answer: Paris\npassage_confidence: 30%\nconfidence: 85%", "Paris", 0.85),
    ("the answer is", "The final answer is: Paris\nMy confidence is: 85%", "Paris", 0.85),
    ("correct answer", "Correct Answer: Paris\nConfidence in this answer: 85%", "Paris", 0.85),
    ("confidence is", "Answer: Paris\nConfidence is 85%", "Paris", 0.85),
    ("answers in steps", "Step 4: Answer: Paris\nStep 5: Confidence: 85%", "Paris", 0.85),
    ("no-break space", "Answer:\u00a0Paris\nConfidence:\u00a085%", "Paris", 0.85),
    ("quotes", 'Answer: "Paris"\nConfidence: 85%', "Paris", 0.85),
    ("latex", "Answer: $\\frac{1}{2}$\nConfidence: 85\\%", "$\\frac{1}{2}$", 0.85),
]  # fmt: skip

FLAWED = [
    ("empty", "", Flaw.EMPTY, None),
    ("spaces", " \n\t ", Flaw.EMPTY, None),
    ("only a thought", "<think>Answer: Paris\nConfidence: 85%</think>\n", Flaw.EMPTY, None),
    ("thought never ends", "<think>Answer: Paris\nConfidence: 85%", Flaw.UNFINISHED, None),
    ("no labels", "It is Paris.", Flaw.NO_CONFIDENCE, None),
    ("no confidence", "Answer: Paris", Flaw.NO_CONFIDENCE, "Paris"),
    ("no answer", "Confidence: 85%", Flaw.NO_ANSWER, None),
    ("cut off", "Answer: Paris\nConfidence:", Flaw.NO_CONFIDENCE, "Paris"),
    ("template echoed", "Answer: [your answer]\nConfidence: [your chance]", Flaw.NO_CONFIDENCE, None),
    ("word", "Answer: Paris\nConfidence: High", Flaw.WORDS, "Paris"),
    ("two blocks disagree", "Answer: Lyon\nConfidence: 20%\nWait.\nAnswer: Paris\nConfidence: 85%", Flaw.DISAGREE, "Paris"),
    ("cut off in a second block", "Answer: Paris\nConfidence: 85%\n\nAnswer: Pa", Flaw.DISAGREE, "Paris"),
    ("range in the last block", "Answer: a\nConfidence: 9%\n\nAnswer: b\nConfidence: 80-90%", Flaw.RANGE, "b"),
    ("our template echoed", "Answer: [your answer: a short answer in a few words]\nConfidence: 85%", Flaw.NO_ANSWER, None),
    ("a confidence of a passage", "Passage 1 has confidence: 20%.\n\nAnswer: Paris\n\nI cannot say.", Flaw.NO_CONFIDENCE, "Paris"),
    ("json without a confidence", '{"answer": "Paris"}', Flaw.NO_CONFIDENCE, "Paris"),
    ("json with a list", '{"answer": ["Paris", "Lyon"], "confidence": 85}', Flaw.NO_ANSWER, None),
    ("json with nothing", '{"answer": null, "confidence": null}', Flaw.NO_CONFIDENCE, None),
    ("json, a word", '{"answer": "Paris", "confidence": "high"}', Flaw.WORDS, "Paris"),
    ("not an object", "```\n[1]\n```", Flaw.NO_CONFIDENCE, None),
    ("deep json", "{" * 5000 + '"a"' + "}" * 5000, Flaw.NO_CONFIDENCE, None),
    ("only a step", "Answer: Paris\nStep 1 Confidence: 85%", Flaw.NO_CONFIDENCE, "Paris"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "answer", "confidence"), [m[1:] for m in MUSEUM], ids=[m[0] for m in MUSEUM]
)
def test_museum(reply, answer, confidence):
    reading = read(reply, Labels())
    assert (reading.answer, reading.confidence, reading.flaw) == (answer, confidence, None)
    start, end = reading.spans["answer"]
    assert answer in reply[start:end]
    assert reading.response.answer == answer


@pytest.mark.parametrize(
    ("reply", "flaw", "answer"), [m[1:] for m in FLAWED], ids=[m[0] for m in FLAWED]
)
def test_flawed(reply, flaw, answer):
    reading = read(reply, Labels())
    assert (reading.flaw, reading.answer, reading.response) == (flaw, answer, None)


NOVA_REPLY = """Step 1: Passage 1 states an answer. Highly Relevant.
Step 2: Passage 2 is about bread. Irrelevant.
Step 3: Passage 3 states another answer. Highly Relevant.
Step 4: The passages contradict each other, so rule 1 applies.
Passage Classifications: {classes}
Group Judgment: {group}
Answer: 1871
Confidence: 40%"""

CLASSES = [
    "Passage 1: Highly Relevant; Passage 2: Irrelevant; Passage 3: Highly Relevant",
    "1. Highly Relevant, 2. Irrelevant, 3. Highly Relevant",
    "\n1. Highly Relevant\n2. Irrelevant\n3. Highly Relevant",
    "\n- Passage 1: **Highly Relevant** (states 1871; a year)\n- Passage 2: **Irrelevant**\n- Passage 3: Highly Relevant",
    "Highly Relevant, Irrelevant, Highly Relevant",
    "[1] highly relevant | [2] irrelevant | [3] highly relevant",
    "HR, IR, HR",
    "Highly-Relevant / Irrelevant / Highly-Relevant.",
    "Passage 1: [Highly Relevant]; Passage 2: [Irrelevant]; Passage 3: [Highly Relevant]",
    "\n1. **Passage 1:** Highly Relevant\n2. **Passage 2:** Irrelevant\n3. **Passage 3:** Highly Relevant",
]  # fmt: skip


@pytest.mark.parametrize("classes", CLASSES)
def test_classes(classes):
    reading = NOVA.read(NOVA_REPLY.format(classes=classes, group="Conflicting"), k=3)
    assert reading.judgment.passages == (HR, IR, HR)
    assert reading.judgment.group is EvidenceState.CONFLICTING
    assert (reading.answer, reading.confidence) == ("1871", 0.4)
    assert {"answer", "confidence", "classes", "group"} == set(reading.spans)


@pytest.mark.parametrize(
    ("classes", "remark"),
    [
        ("Highly Relevant, Irrelevant", "2 classes for 3 passages"),
        ("Highly Relevant", "1 class for 3 passages"),
        ("HR, HR, HR, HR", "4 classes for 3 passages"),
        ("2. Relevant, 1. Relevant, 3. Relevant", "the passage classes are not numbered in order"),
        ("Very Relevant, Relevant, Relevant", "a passage class could not be read"),
        ("all of them are relevant", "a passage class could not be read"),
        (
            "\nPassage 1: I say relevant\nPassage 2: R\nPassage 3: R",
            "a passage class could not be read",
        ),
        ("\n1. Relevant or Irrelevant\n2. R\n3. R", "a passage class could not be read"),
    ],
)
def test_k_classes_or_none(classes, remark):
    reading = NOVA.read(NOVA_REPLY.format(classes=classes, group="Consistent"), k=3)
    assert reading.judgment.passages == ()
    assert reading.judgment.group is EvidenceState.CONSISTENT
    assert reading.remarks == (remark,)
    assert reading.response is not None


def test_group_judgment_is_optional_and_checked():
    without = NOVA_REPLY.replace("Group Judgment: {group}\n", "").format(classes=CLASSES[0])
    assert NOVA.read(without, k=3).judgment.group is None
    odd = NOVA.read(NOVA_REPLY.format(classes=CLASSES[0], group="Mixed"), k=3)
    assert odd.judgment.group is None
    assert odd.remarks == ("the group judgment is none of the three words",)
    echoed = NOVA_REPLY.format(
        classes=CLASSES[0], group="[Conflicting, Consistent or Insufficient]"
    )
    assert NOVA.read(echoed, k=3).judgment.group is None
    only = "Group Judgment: **Insufficient**\nAnswer: x\nConfidence: 3%"
    assert NOVA.read(only).judgment.group is EvidenceState.INSUFFICIENT
    assert NOVA.read(only).judgment.passages == ()


def test_classes_without_a_known_k_are_taken_as_they_are():
    assert NOVA.read("Passage Classifications: R\nAnswer: x\nConfidence: 3%").judgment.passages == (
        R,
    )


STEPS = (
    "Step 1: a\nStep 2: b\nFinal Output:\nStep 1 Confidence: 80%\nStep 2 Confidence: 50%\nAnswer: x"
)


@pytest.mark.parametrize(
    ("combine", "value"), [("product", 0.4), ("last", 0.5), ("min", 0.5), ("mean", 0.65)]
)
def test_steps_are_combined(combine, value):
    assert read(STEPS, Labels(combine=combine)).confidence == pytest.approx(value)


def test_multi_step_may_say_the_same_twice_and_nothing_else():
    assert MULTI_STEP.read(STEPS + "\n" + STEPS).confidence == pytest.approx(0.4)
    assert MULTI_STEP.read("Step 1 Confidence: 10%\n" + STEPS).flaw is Flaw.DISAGREE
    steps = STEPS.rpartition("\n")[0]
    reading = MULTI_STEP.read(steps + "\nIn short:\n" + STEPS)
    assert (reading.answer, reading.confidence) == ("x", pytest.approx(0.4))


@pytest.mark.parametrize(
    ("reply", "flaw"),
    [
        ("Answer: x\nConfidence: 80%", Flaw.NO_CONFIDENCE),
        ("Step 2 Confidence: 80%\nAnswer: x", Flaw.NO_CONFIDENCE),
        ("Step 1 Confidence: 80%\nStep 3 Confidence: 80%\nAnswer: x", Flaw.MALFORMED),
        ("Step 1 Confidence: 80%\nStep 2 Confidence: high\nAnswer: x", Flaw.WORDS),
        ("Step 1 Confidence: 80%", Flaw.NO_ANSWER),
    ],
)
def test_steps_that_cannot_be_read(reply, flaw):
    assert MULTI_STEP.read(reply).flaw is flaw


GUESSES = [
    ("Guess: Paris\nProbability: 0.9", "Paris", 0.9, None),
    ("Paris\nProbability: 0.9", "Paris", 0.9, None),
    ("Paris\n0.9", "Paris", 0.9, None),
    ("Paris, 0.9", "Paris", 0.9, None),
    ("Paris: 0.9", "Paris", 0.9, None),
    ("Paris 0.9", "Paris", 0.9, None),
    ("Paris; Probability: 0.9\n\n(Note: about 1.0)", "Paris", 0.9, None),
    ("assistant\n\nParis\n\n0.9", "Paris", 0.9, None),
    ("Guess: <Paris>\nProbability: <0.9>", "Paris", 0.9, None),
    ("/guess: Paris\nprobability: 0.9", "Paris", 0.9, None),
    ("Guess: Paris\nProbability: 0.9\n\nGuess: Lyon\nProbability: 0.1", "Paris", 0.9, None),
    ("Paris, 0.9\n\nNote: the probability is a guess.", "Paris", 0.9, None),
    ("Guess: Paris, 0.9", "Paris", 0.9, None),
    ("Guess: Paris", "Paris", None, Flaw.NO_CONFIDENCE),
    ("Paris", "Paris", None, Flaw.NO_CONFIDENCE),
    ("18.0", "18.0", None, Flaw.NO_CONFIDENCE),
    ("1964.0.95", "1964.0.95", None, Flaw.MALFORMED),
    ("Guess:\nProbability:\n", None, None, Flaw.NO_CONFIDENCE),
    ("assistant\n\n0.8", None, 0.8, Flaw.NO_ANSWER),
    ("assistant", None, None, Flaw.NO_CONFIDENCE),
    ("assistant\nProbability: 0.8", None, 0.8, Flaw.NO_ANSWER),
    ("Guess:\nProbability: 0.8", None, 0.8, Flaw.NO_ANSWER),
    ("Guess: Paris\nProbability: 2.0", "Paris", None, Flaw.OUT_OF_BOUNDS),
    ("Puff, 1998.99", "Puff", None, Flaw.OUT_OF_BOUNDS),
    ("Guess: Paris\nProbability: 0.6-0.8", "Paris", None, Flaw.RANGE),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "answer", "confidence", "flaw"), GUESSES)
def test_guess_probability(reply, answer, confidence, flaw):
    reading = read(reply, FORMATS["guess-probability"])
    assert (reading.answer, reading.confidence, reading.flaw) == (answer, confidence, flaw)


@pytest.mark.parametrize(
    ("reply", "answer", "confidence", "flaw"),
    [
        ("<answer> B </answer><confidence> 0.9 </confidence>", "B", 0.9, None),
        ("<think> <answer>A</answer> </think><answer>B</answer>\n<confidence>0.9</confidence>", "B", 0.9, None),
        ("<answer>A</answer><confidence>0.1</confidence><answer>B</answer><confidence>0.9</confidence>", "B", None, Flaw.DISAGREE),
        ("<answer>B</answer><confidence>0.9", "B", None, Flaw.NO_CONFIDENCE),
        ("<answer>B</answer>", "B", None, Flaw.NO_CONFIDENCE),
        ("<answer>B</answer><confidence></confidence>", "B", None, Flaw.NO_CONFIDENCE),
        ("<answer>B</answer><confidence>100.</confidence>", "B", None, Flaw.OUT_OF_BOUNDS),
        ("<answer>one\ntwo</answer><confidence>1</confidence>", "one\ntwo", 1.0, None),
        ("<think>never closed <answer>A</answer><confidence>0.2</confidence>", "A", 0.2, None),
        ("<answer>unclosed <confidence>0.9</confidence>", None, 0.9, Flaw.NO_ANSWER),
    ],
)  # fmt: skip
def test_answer_tags(reply, answer, confidence, flaw):
    reading = read(reply, FORMATS["answer-tags"])
    assert (reading.answer, reading.confidence, reading.flaw) == (answer, confidence, flaw)


@pytest.mark.parametrize(
    ("reply", "confidence", "flaw"),
    [
        ("DECISION: ANSWER\nPROBABILITY_YES: 1", 0.01, None),
        ("<answer>DECISION: ANSWER\nPROBABILITY_YES: 60\n</answer>", 0.6, None),
        ("DECISION: DECLINE\nPROBABILITY_YES: NA", None, Flaw.WORDS),
        ("DECISION: DECLINE\nPROBABILITY_YES:", None, Flaw.NO_CONFIDENCE),
        ("", None, Flaw.EMPTY),
    ],
)
def test_probability_yes(reply, confidence, flaw):
    reading = read(reply, FORMATS["probability-yes"])
    assert (reading.confidence, reading.flaw) == (confidence, flaw)


def test_a_json_truth_value_is_yes_or_no():
    for value, answer in (("true", "yes"), ("false", "no")):
        assert read('{"confidence": 85, "answer": ' + value + "}", Labels()).answer == answer


def test_every_strategy_reads_its_own_plain_reply():
    for strategy in STRATEGIES.values():
        reply = STEPS if strategy.labels.combine else "Answer: x\nConfidence: 40%"
        assert strategy.read(reply).confidence == pytest.approx(0.4), strategy.name
    assert CLOSED_BOOK.read("Answer: x\nConfidence: 40%", k=0).response.confidence == 0.4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Step 4: rule 1 applies.", True),
        ("**Step 4:** rule 1 applies.", True),
        ("- Step 4. rule 1", True),
        ("### STEP 4\nrule 1", True),
        ("> \t* step 4", True),
        ("Step 3: x\r\nStep 4: y", True),
        ("in Step 4: rule 1 applies.", False),
        ("Step 40: rule 1", False),
        ("Step 40\nStep 4", True),
        ("Step 3: only", False),
        ("<think>\nStep 4: rules\n</think>\nno step", False),
        ("<think>x</think>Step 4: rules", True),
        ("*" * 30 + "Step 4", False),
        ("ends with a step 4", False),
        ("", False),
    ],
)
def test_the_step_that_applies_the_rules_opens_a_line(text, found):
    reply = f"{text}\nAnswer: Paris\nConfidence: 90%"
    reading = NOVA.read(reply, k=3)
    assert reading.rule_step is found
    assert reading.response.rule_step is found
    assert NOVA.read(reply).rule_step is None


def test_an_object_has_no_step():
    text = '{"answer": "Step 4", "confidence": "90%"}'
    assert NOVA.read(text, k=3).rule_step is False
    assert NOVA.read(text).rule_step is None


def test_tags_at_the_end_are_taken_off_in_one_pass():
    short, long = ("<b>" * size for size in (2_000, 32_000))
    best = [min(_seconds(without_edges, text) for _ in range(3)) for text in (short, long)]
    assert best[1] < 50 * max(best[0], 1e-4)
    assert without_edges("<b>90%</b> <i>*</i>\n") == "90%"
    assert without_edges("<b>90%</b> of <i>x</i>") == "90%</b> of <i>x"


def _seconds(work, text):
    began = time.process_time()
    work(text)
    return time.process_time() - began
