"""The funnel against a naive one: plain Python, exact fractions, no code shared with it."""

import hashlib
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import DataError, UnknownNameError, UsageError, funnel
from novarag.filters import BY_GROUP, OVER_ALL, STAGES, FilterTally, Options
from novarag.filters.selection import group_draws, sample_draws
from novarag.filters.stages import _count_highly
from novarag.taxonomy import EvidenceState, Utility, states_for
from tests.support.simulated import simulate, table

ROWS = simulate(420)
NAMES = list(STAGES)


# — the naive funnel —


def naive(
    rows, *, rules="stated", alignment="brier", balance="uniform", common=1, seed=0,
    unfiltered=False, unjudged=False,
):  # fmt: skip
    """Return the identities kept, and {(model, kind, stage, reason): count} of the dropped."""
    dropped = {}
    shares = {}
    for row in rows:
        shares.setdefault(asked(row), []).append(row["correct"])
    left = list(rows)

    def drop(stage, reason_of):
        nonlocal left
        kept = []
        for row in left:
            reason = reason_of(row)
            if reason is None:
                kept.append(row)
            else:
                dropped[identity(row)] = (stage, reason)
        left = kept

    for stage, reason_of in judging(rules, judges=not (unfiltered or unjudged)).items():
        drop(stage, reason_of)
    nearest = another(choose(left, shares, alignment, seed), alignment)
    drop("alignment", ungraded if unfiltered else nearest)
    if common > 1:
        models = models_of(left)
        drop(
            "common",
            lambda r: (
                None
                if len(models[r["question"], r["group"]]) >= common
                else "not kept for every model"
            ),
        )
    if balance != "none":
        chosen = draw(left, balance, seed)
        drop(
            "balance",
            lambda r: None if identity(r) in chosen else "more of its kind than balance allows",
        )
    return {identity(r) for r in left}, dropped


def models_of(rows):
    models = {}
    for row in rows:
        models.setdefault((row["question"], row["group"]), set()).add(row["model"])
    return models


def another(best, alignment):
    why = "of its group was drawn" if alignment == "share" else "is better aligned"

    def reason_of(row):
        if row["correct"] is None:
            return "not graded"
        return None if best[asked(row)] == row["sample"] else f"another response {why}"

    return reason_of


def asked(row):
    return row["model"], row["strategy"], row["question"], row["group"]


def identity(row):
    return (*asked(row), row["sample"])


def ungraded(row):
    return "not graded" if row["correct"] is None else None


def judging(rules, *, judges):
    """Return the stages before the alignment."""
    if not judges:
        return {"format": lambda r: r["flaw"]}
    return {
        "format": lambda r: r["flaw"] or (None if r["judgments"] else "no passage classes"),
        "judgment": misjudged,
        "rules": {"stated": against_rules, "keyword": without_words}[rules],
    }


def misjudged(row):
    if row["passages_judged"] is None:
        return "nothing known to judge by"
    if row["passages_right"] < row["passages_judged"]:
        return "a passage is misjudged"
    if row["evidence"] is None:
        return None
    if row["group_judged"] is None:
        return "nothing known to judge by"
    return None if row["group_right"] else "the group is misjudged"


def against_rules(row):
    highly = row["judgments"].count("highly relevant")
    if row["evidence"] is None:
        return "no group judgment"
    fits = {
        "insufficient": highly == 0,
        "consistent": highly >= 1,
        "conflicting": highly >= 2,
    }[row["evidence"]]
    if not fits:
        return "the group judgment does not follow from the classes"
    return None if row["rule_step"] else "no step applies the rules"


def without_words(row):
    reply = row["reply"].lower()
    if "rules" not in reply:
        return '"rules" is not mentioned'
    step = f"step {len(row['judgments']) + 1}"
    return None if step in reply else "the step of the rules is not mentioned"


def number(seed, purpose, row):
    key = "\x1f".join([str(seed), purpose, row["question"], row["group"]])
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")


def splitmix(state, step):
    top = 2**64
    z = (state + step * 0x9E3779B97F4A7C15) % top
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % top
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % top
    return z ^ (z >> 31)


def choose(rows, shares, alignment, seed):
    best = {}
    for row in rows:
        if row["correct"] is None:
            continue
        target = Fraction(int(row["correct"]))
        if alignment == "soft":
            said = shares[asked(row)]
            target = Fraction(sum(x is True for x in said), len(said))
        loss = (Fraction(str(row["confidence"])) - target) ** 2
        if alignment == "share":
            loss = Fraction(0)
        entry = loss, splitmix(number(seed, "alignment", row), row["sample"]), row["sample"]
        best[asked(row)] = min(best.get(asked(row), entry), entry)
    return {key: entry[2] for key, entry in best.items()}


def draw(rows, balance, seed):
    chosen = set()
    for model in {r["model"] for r in rows}:
        kinds = {}
        for row in rows:
            if row["model"] == model:
                kinds.setdefault(row["kind"], []).append(row)
        least = min(len(found) for found in kinds.values())
        for kind, found in kinds.items():
            found.sort(key=lambda r: number(seed, "balance", r))
            if balance == "uniform":
                found = found[:least]
            elif kind == "consistent":
                found = found[: len(kinds.get("irrelevant", []))]
            chosen |= {identity(r) for r in found}
    return chosen


# — the funnel equals it —


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"rules": "keyword"},
        {"alignment": "soft"},
        {"unfiltered": True, "balance": "none"},
        {"unjudged": True},
        {"unjudged": True, "alignment": "share", "balance": "none", "seed": 5},
        {"unjudged": True, "alignment": "soft", "balance": "none"},
        {"common": 2},
        {"balance": "downsample-consistent"},
        {"alignment": "share", "balance": "none", "seed": 7},
        {"alignment": "soft", "common": 2, "balance": "downsample-consistent", "seed": 3},
    ],
    ids=str,
)
def test_the_funnel_equals_a_naive_one(chosen):
    assert len(ROWS) >= 40_000
    found = funnel(table(ROWS), options=Options(**chosen))
    kept, dropped = naive(ROWS, **chosen)
    columns = ["model", "strategy", "question", "group", "sample"]
    assert kept
    assert found.kept.select(columns).height == len(kept)
    assert set(found.kept.select(columns).iter_rows()) == kept
    told = {
        tuple(r[:5]): tuple(r[5:])
        for r in found.dropped.select(*columns, "stage", "reason").iter_rows()
    }
    assert told == dropped
    counts = Counter()
    for row in ROWS:
        stage = dropped.get(identity(row), ("end",))[0]
        lasted = NAMES.index(stage) if stage != "end" else len(NAMES)
        for name in ["total", *NAMES[:lasted]]:
            for kind in (None, row["kind"]):
                counts[row["model"], kind, name] += 1
    for row in found.tally.counts():
        assert row["kept"] == counts[row["model"], row["kind"], row["stage"]]
    reasons = Counter()
    for row in ROWS:
        if identity(row) in dropped:
            for kind in (None, row["kind"]):
                reasons[row["model"], kind, *dropped[identity(row)]] += 1
    assert {
        (r["model"], r["kind"], r["stage"], r["reason"]): r["count"]
        for r in found.tally.all_reasons()
    } == reasons
    told = {
        "stages": NAMES,
        "counts": [*found.tally.counts()],
        "reasons": [*found.tally.all_reasons()],
    }
    assert FilterTally.of(told) == found.tally


@pytest.mark.parametrize(
    "chosen",
    [{"alignment": "soft"}, {"alignment": "share"}, {"alignment": "share", "unfiltered": True}],
    ids=str,
)
def test_soft_targets_are_the_share_of_all_samples(chosen):
    found = funnel(table(ROWS[:1600]), options=Options(**chosen, balance="none"))
    assert found.kept.height
    shares = {}
    for row in ROWS[:1600]:
        shares.setdefault(row["group"], []).append(row["correct"] is True)
    for group, target in found.kept.select("group", "target").iter_rows():
        assert target == pytest.approx(sum(shares[group]) / 16)
    assert (
        funnel(table(ROWS[:160])).kept["target"].null_count()
        == funnel(table(ROWS[:160])).kept.height
    )


# — laws —

some_rows = st.builds(
    lambda questions, seed: simulate(questions, samples=4, seed=seed),
    st.integers(1, 12),
    st.integers(0, 10**6),
)
some_options = st.builds(
    Options,
    rules=st.sampled_from(["stated", "keyword"]),
    alignment=st.sampled_from(["brier", "soft", "share"]),
    balance=st.sampled_from(["uniform", "downsample-consistent", "none"]),
    common=st.integers(0, 3),
    seed=st.integers(0, 9),
)
WHO = ["model", "strategy", "question", "group", "sample"]


def names(frame):
    return sorted(frame.select(WHO).iter_rows())


@settings(max_examples=40)
@given(some_rows, some_options, st.randoms(use_true_random=False))
def test_laws_of_the_funnel(rows, options, rng):
    found = funnel(table(rows), options=options)
    counts = [found.tally.kept(stage) for stage in ("total", *NAMES)]
    assert counts == sorted(counts, reverse=True)
    for stage, before, after in zip(NAMES, counts, counts[1:], strict=False):
        assert before - after == found.dropped.filter(pl.col("stage") == stage).height
        assert before - after == sum(n for _, n in found.tally.reasons(stage))
    assert sorted(names(found.kept) + names(found.dropped)) == names(table(rows))
    assert found.kept.select(WHO[:4]).n_unique() == found.kept.height
    shuffled = rng.sample(rows, len(rows))
    again = funnel(table(shuffled), options=options)
    assert names(again.kept) == names(found.kept)
    assert list(again.tally.counts()) == list(found.tally.counts())


@settings(max_examples=20)
@given(some_rows, some_options)
def test_groups_one_by_one_and_then_together_give_the_same(rows, options):
    whole = table(rows)
    parts = [funnel(part, BY_GROUP, options=options) for part in whole.partition_by("question")]
    rest = funnel(pl.concat([part.kept for part in parts]), OVER_ALL, options=options)
    assert names(rest.kept) == names(funnel(whole, options=options).kept)


@settings(max_examples=20)
@given(some_rows, st.integers(0, 9))
def test_after_common_all_models_keep_the_same_groups_in_equal_numbers(rows, seed):
    kept = funnel(table(rows), options=Options(common=2, seed=seed)).kept
    by_model = kept.group_by("model").agg(pl.col("group").sort())["group"].to_list()
    assert all(groups == by_model[0] for groups in by_model)
    assert kept.group_by("model", "kind").len()["len"].n_unique() <= 1


def test_the_states_left_open_are_those_of_the_taxonomy():
    for count in range(5):
        said = [Utility.HIGHLY_RELEVANT] * count + [Utility.RELEVANT]
        for state in EvidenceState:
            row = ROWS[0] | {
                "evidence": state.value,
                "judgments": [u.value for u in said],
                "rule_step": True,
            }
            kept = funnel(table([row]), ["rules"]).kept.height
            assert kept == (state in states_for(said))


def test_counting_flat_lists():
    hr, r = "highly relevant", "relevant"
    said = pl.Series([[hr, r], None, [], [hr, hr, None], None, [r]], dtype=pl.List(pl.String))
    assert _count_highly(said).tolist() == [1, 0, 0, 2, 0, 0]
    assert _count_highly(said.clear()).tolist() == []


# — luck —


def test_luck_is_pinned():
    """These numbers may never change: the same seed must give the same set on every machine."""
    frame = pl.DataFrame({"question": ["q", "ü", "q"], "group": ["g", None, "g"]})
    luck = group_draws(frame, seed=1, purpose="alignment")
    assert luck.tolist() == PINNED
    assert sample_draws(luck[:1], np.array([5])).tolist() == [splitmix(PINNED[0], 5)]


PINNED = [
    int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
    for text in ("1\x1falignment\x1fq\x1fg", "1\x1falignment\x1fü\x1f", "1\x1falignment\x1fq\x1fg")
]


def test_no_sample_is_favoured_and_the_seed_decides():
    rows = [
        ROWS[0] | {"question": f"q{i // 4}", "sample": i % 4, "correct": True, "confidence": 0.5}
        for i in range(400)
    ]
    first, second = (
        funnel(table(rows), ["alignment"], options=Options(seed=seed)).kept for seed in (0, 1)
    )
    assert first.height == 100
    assert first["sample"].value_counts()["count"].min() > 10
    assert first["sample"].to_list() != second["sample"].to_list()


def test_right_at_90_and_wrong_at_10_percent_tie():
    picks = set()
    for seed in range(20):
        rows = [
            ROWS[0] | {"sample": 0, "correct": True, "confidence": 0.9},
            ROWS[0] | {"sample": 1, "correct": False, "confidence": 0.1},
        ]
        kept = funnel(table(rows), ["alignment"], options=Options(seed=seed)).kept
        picks |= set(kept["sample"].to_list())
    assert picks == {0, 1}


# — edges —


def test_what_a_reply_stated_does_not_choose_it_where_the_number_is_written():
    rows = [row for row in ROWS[:4800] if row["correct"] is not None]
    options = Options(alignment="share", balance="none")
    kept = funnel(table(rows), BY_GROUP, options=options).kept
    other = [row | {"confidence": 1 - row["confidence"], "correct": True} for row in rows]
    assert kept.height
    assert kept.select(WHO).equals(funnel(table(other), BY_GROUP, options=options).kept.select(WHO))


def test_a_teacher_must_have_been_asked():
    rows = table(ROWS[:160])
    options = Options(alignment="teacher", balance="none")
    with pytest.raises(DataError, match="a teacher's targets are not there"):
        funnel(rows, options=options)
    targets = pl.Series([None, *[0.3] * (rows.height - 1)], dtype=pl.Float64)
    found = funnel(rows.with_columns(target=targets), options=options)
    assert found.kept["target"].unique().to_list() == [0.3]
    whole = Options(alignment="teacher", balance="none", unfiltered=True)
    found = funnel(rows.with_columns(target=pl.lit(0.3)), options=whole)
    graded = rows.filter(pl.col("correct").is_not_null() & pl.col("flaw").is_null())
    assert found.kept.height == graded.height


def test_groups_without_a_kind_cannot_be_balanced():
    rows = [ROWS[0] | {"kind": None}, ROWS[0] | {"group": "other", "kind": "consistent"}]
    found = funnel(table(rows), ["balance"])
    assert found.dropped["reason"].to_list() == ["the kind of the group is not known"]
    assert found.tally.kinds == ["consistent", "unknown"]
    assert found.tally.kept("balance", kind="unknown") == 0


def test_a_kind_of_which_nothing_is_left_does_not_count():
    rows = [
        ROWS[0] | {"group": f"g{i}", "kind": ("consistent", "irrelevant")[i > 2]} for i in range(5)
    ]
    assert (
        funnel(table(rows), ["balance"]).kept["kind"].to_list()
        == ["consistent"] * 2 + ["irrelevant"] * 2
    )
    lone = table(rows).filter(pl.col("kind") == "consistent")
    paper = Options(balance="downsample-consistent")
    assert funnel(lone, ["balance"]).kept.height == 3
    assert funnel(lone, ["balance"], options=paper).kept.height == 3


def test_nothing_in_nothing_out():
    found = funnel(table([]))
    assert (found.kept.height, found.dropped.height) == (0, 0)
    assert found.tally == FilterTally(tuple(STAGES))
    assert list(found.tally.counts()) == []


def test_no_stage_keeps_everything_and_unknown_names_are_refused():
    trials = table(ROWS[:10])
    assert funnel(trials, []).kept.drop("target").equals(trials)
    with pytest.raises(UnknownNameError):
        funnel(trials, ["magic"])
    for wrong in ({"rules": "soft"}, {"alignment": "x"}, {"balance": "x"}):
        with pytest.raises(UnknownNameError):
            Options(**wrong)
    with pytest.raises(UsageError):
        Options(seed=-1)


def test_what_is_missing_or_doubled_is_named():
    with pytest.raises(DataError, match=r"rule_step.*reread"):
        funnel(table(ROWS[:1]).drop("rule_step"))
    row = ROWS[0] | {"correct": True, "confidence": 0.5}
    with pytest.raises(DataError, match="more than once"):
        funnel(table([row, row]), ["alignment"])


def test_two_ways_to_judge_nothing_are_refused_together():
    with pytest.raises(UsageError, match="leave `unjudged` out"):
        Options(unfiltered=True, unjudged=True)
