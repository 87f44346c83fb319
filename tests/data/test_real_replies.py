"""The reader on 78,000 real replies, every disagreement with the source explained."""

import re
from collections import Counter

import polars as pl
import pytest

from novarag import Flaw
from novarag.grading import normalize
from novarag.strategies import FORMATS, Labels, read

pytestmark = pytest.mark.data


def table(data, name):
    return pl.read_parquet(data / "responses" / f"{name}.parquet")


REFUSED = {
    Flaw.DOUBT: "words beside the number doubt it or bound it, and we refuse",
    Flaw.SECOND: "a second number is stated, and we refuse",
    Flaw.QUOTED: "it stands in a quotation",
}


def confidence_class(row, reading):
    """Name the reason why our confidence differs from the source's; None where it does not."""
    theirs, text = row["author_confidence"], row["response"]
    if reading.flaw is None and abs(reading.confidence - theirs) < 1e-6:
        return None
    if reading.flaw is Flaw.NO_ANSWER:
        return "the source took an empty guess for an answer"
    if theirs > 1:
        return "the source took a number above 1 for a probability"
    if reading.flaw is Flaw.RANGE:
        return "two numbers: the source took the first, we refuse"
    if reading.flaw in REFUSED:
        return REFUSED[reading.flaw]
    if reading.flaw is None and len(re.findall("probability", text, re.IGNORECASE)) > 1:
        return "several guesses: the source mixed two of them"
    return f"unexplained: {reading}"


def test_verb_guess_probability(data):
    rows = table(data, "verb_guess_probability")
    assert rows.height == 64_000
    parsed = rows.filter(pl.col("author_confidence") >= 0)
    classes, answers = Counter(), Counter()
    for row in parsed.iter_rows(named=True):
        reading = read(row["response"], FORMATS["guess-probability"])
        classes[confidence_class(row, reading)] += 1
        theirs = normalize(row["author_answer"].replace("/", ""))
        answers[
            reading.answer is not None and normalize(reading.answer.replace("/", "")) == theirs
        ] += 1
    print(parsed.height, classes, answers)
    assert not [c for c in classes if c and c.startswith("unexplained")]
    assert classes[None] / parsed.height >= 0.995
    assert answers[True] / parsed.height >= 0.995


def test_rows_the_source_failed_on(data):
    rows = table(data, "verb_parser_sample").filter(pl.col("author_confidence") < 0)
    assert rows.height == 325
    readings = [read(t, FORMATS["guess-probability"]) for t in rows["response"]]
    outcome = Counter(r.flaw for r in readings)
    print(outcome)
    assert outcome[None] / rows.height >= 0.6
    for text, r in zip(rows["response"], readings, strict=True):
        if r.flaw is Flaw.NO_CONFIDENCE:
            assert not re.search(r"probability: ?0?\.\d", text, re.IGNORECASE), text


def test_no_confidence_is_invented_where_there_is_no_tag(data):
    rows = table(data, "rlcr_outputs")
    flaws = Counter()
    for row in rows.iter_rows(named=True):
        reading = read(row["response"], FORMATS["answer-tags"])
        if "<confidence>" not in row["response"]:
            assert reading.confidence is None
            assert reading.flaw is not None
            continue
        flaws[reading.flaw] += 1
        if reading.flaw is None:
            assert reading.confidence == pytest.approx(row["author_confidence"], abs=1e-6)
    print(flaws)
    assert rows.height == 8605
    bare_percents = flaws[Flaw.OUT_OF_BOUNDS]
    assert bare_percents == 1809, "numbers such as '100.' on a scale of 0 to 1 are refused"
    assert flaws[None] / (flaws.total() - bare_percents) > 0.995


def test_na_and_empty_are_flaws_not_zeros(data):
    rows = table(data, "frontier_probability_yes")
    empty = fieldless = 0
    for text in rows["response"].fill_null(""):
        reading = read(text, FORMATS["probability-yes"])
        stated = re.search(r"PROBABILITY_YES:[ \t]*([^\n<]*)", text)
        if not text.strip():
            empty += 1
            assert reading.flaw is Flaw.EMPTY
        elif stated is None:
            fieldless += 1
            assert reading.confidence is None
        elif stated[1].strip() == "NA":
            assert (reading.confidence, reading.flaw) == (None, Flaw.WORDS)
        elif stated[1].strip().isdigit():
            assert reading.confidence == int(stated[1]) / 100
    assert empty == 97
    assert fieldless >= 100


def test_hedged_sentences(data):
    rows = table(data, "hedging_words_to_probability")
    labels = Labels(confidence=("probability",))
    agree = Counter()
    for row in rows.iter_rows(named=True):
        reading = read(row["response"], labels)
        stated = row["extracted_confidence"]
        if stated is None or reading.confidence is None:
            agree["one of us read nothing"] += 1
        else:
            agree[abs(100 * reading.confidence - stated) < 1e-6] += 1
    print(agree)
    assert agree[True] / rows.height > 0.99
    assert agree[False] <= 10, "these state a range first and one number last; we take the last"
