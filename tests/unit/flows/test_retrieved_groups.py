"""Groups from real retrieval: what a search found without the answer is no evidence."""

from types import SimpleNamespace

import polars as pl
import pytest

from novarag import GroupKind, Passage, PassageGroup, PassageKind, Question, UsageError
from novarag.datasets import clean
from novarag.datasets.retrieved import retrieved_questions
from novarag.errors import DataError
from novarag.flows import benchmark
from novarag.flows.benchmark import rebuild_benchmark, retrieved_pools
from novarag.noise.groups import retrieved_groups
from novarag.noise.validators import find_fault

NEAR = [f"The Alder reef has seen {n} storms." for n in ("many", "few", "fierce", "late", "two")]


def pool(*more, answers=("Mara Holm",), text="Who lit the Alder reef?"):
    question = Question(id="q", text=text, answers=answers)
    gold = Passage(text="Mara Holm lit the Alder reef.", kind=PassageKind.GOLD)
    found = [Passage(text=t) for t in ("Mara Holm was born at sea.", NEAR[0], *NEAR)]
    return PassageGroup(question=question, passages=(gold, *found, *more))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_best_that_lack_the_answer_stand_alone_and_beside_gold(k):
    built = retrieved_groups([pool()], k=k)
    consistent, none = built.groups
    assert (consistent.kind, none.kind) == (GroupKind.CONSISTENT, GroupKind.IRRELEVANT)
    assert {p.text for p in none.passages} == set(NEAR[:k])
    assert all(p.kind is PassageKind.RELEVANT for p in none.passages)
    beside = {p.text for p in consistent.passages if p.kind is not PassageKind.GOLD}
    assert beside == set(NEAR[: k - 1])
    assert not any(find_fault(p, g.question) for g in built.groups for p in g.passages)
    assert retrieved_groups([pool()], k=k).groups == built.groups


def test_a_counterfactual_passage_makes_a_third_group():
    false = Passage(
        text="Otto Berg lit the Alder reef.", kind=PassageKind.COUNTERFACTUAL, claim="Otto Berg"
    )
    against, *_ = retrieved_groups([pool(false)], k=3).groups
    assert against.kind is GroupKind.COUNTERFACTUAL
    assert sorted(p.kind for p in against.passages) == ["counterfactual", "gold", "relevant"]
    assert len(retrieved_groups([pool(false)], k=2).groups) == 2


def test_what_cannot_be_used_is_counted_with_its_reason():
    named = pool(answers=("the Alder reef",))
    bare = PassageGroup(question=pool().question, passages=pool().passages[1:])
    built = retrieved_groups([named, bare, pool()], k=6)
    assert built.short == {
        "its answer cannot be looked for": 1,
        "no sound gold passage": 1,
        "too few passages found without the answer": 1,
    }
    with pytest.raises(UsageError, match="2 or more"):
        retrieved_groups([], k=1)


@pytest.fixture
def data(tmp_path):
    """A small corpus, with two test questions and many to learn from, one of them known."""
    folder = tmp_path / "data" / "retrieval"
    folder.mkdir(parents=True)
    names = [("naacl-nq-test", "t0", "Who lit reef 0?"), ("naacl-nq-test", "t1", "Who lit reef 1?")]
    names += [("nq-open-oracle", f"n{i}", f"Who lit reef {i}?") for i in range(1, 40)]
    names += [("noiserbench-tempqa", "x", "Who else?")]
    rows = [
        {"qid": q, "dataset": d, "question": text, "answers": [f"Mara{text[-3:-1].strip()}"],
         "gold_ids": [f"g{text[-3:-1].strip()}"], "same_as": ["t0"] if q == "n5" else []}
        for d, q, text in names
    ]  # fmt: skip
    pl.DataFrame(rows, schema_overrides={"same_as": pl.List(pl.String)}).write_parquet(
        folder / "questions.parquet"
    )
    texts = {f"g{i}": f"Mara{i} lit reef {i}." for i in range(40)}
    texts |= {f"p{i}": f"Reef number {i} is dark." for i in range(6)}
    pl.DataFrame({"id": list(texts), "text": list(texts.values())}).write_parquet(
        folder / "corpus.parquet"
    )
    return tmp_path / "data"


def test_no_split_knows_a_question_of_another(data):
    found = retrieved_questions(data)
    assert [q.id for q, _ in found["test"]] == ["t0", "t1"]
    learnt = [q.id for split in ("train", "dev") for q, _ in found[split]]
    assert len(learnt) == len(set(learnt)) == 37  # one has a test's words, one is named as same
    assert not {"n1", "n5", "x"}.intersection(learnt)
    assert len(found["dev"]) > 1
    with pytest.raises(DataError, match="retrieval"):
        retrieved_questions(data / "retrieval")


def test_pools_and_files_from_a_search(data, tmp_path, monkeypatch):
    heard = {}

    def search(questions, *, uri, mode, k, on_event):
        heard.update(uri=uri, mode=mode, k=k)
        ranked = tuple(Passage(text="a title on top", source=f"p{i}") for i in range(6))
        return SimpleNamespace(
            groups=[PassageGroup(question=q, passages=ranked) for q in questions]
        )

    monkeypatch.setattr("novarag.flows.retrieve.retrieve", search)
    monkeypatch.setattr(
        "novarag.flows.index.build_index", lambda files, uri, **_: heard.update(files=files)
    )
    pools = retrieved_pools(tmp_path / "i.db", data=data)
    assert heard["files"] == [data / "retrieval" / "corpus.parquet"]
    first = pools["test"][0]
    assert [p.text for p in first.passages[:2]] == ["Mara0 lit reef 0.", "Reef number 0 is dark."]
    monkeypatch.setattr(clean, "SPLITS", {})
    monkeypatch.setattr(clean, "check_inputs", lambda _: [])
    made = rebuild_benchmark(tmp_path / "out", data=data, audit=False, retrieved=True)
    assert len(made.files) == 9
    assert made.files[-1].name == "retrieved-test-k5.jsonl"
    assert (made.files[-1].groups, made.unlike) == (4, ())
    assert heard["uri"] == tmp_path / "out" / benchmark._INDEX
