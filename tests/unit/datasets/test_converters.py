"""Converters of public files, on files of a few rows."""

import gzip
import json

import polars as pl

from novarag.datasets.converters import CONVERTERS, is_table, table_digest
from novarag.datasets.released import question_name
from tests.support.released_rows import CELLS, released


def convert(converter, parts, **settings):
    return CONVERTERS[converter].convert({f"p{i}": p for i, p in enumerate(parts)}, **settings)


def test_groups_keep_order_labels_and_what_passages_claim():
    rows = [released(passages=CELLS), released("When?", ("1871", "in 1871"), passages=CELLS)]
    own = {"name": "bamboogle_test_k3", "dataset": "bamboogle", "split": "test", "k": 3}
    made = convert("nova-groups", [json.dumps(rows).encode()], **own).to_dicts()
    assert [row["question_type"] for row in made] == ["binary", "open"]
    assert made[0]["id"] == "bamboogle-test-k3-a1"
    assert made[0]["qid"] == question_name("is it lit")
    assert [p["label"] for p in made[1]["passages"]] == ["gold", "counterfactual", "relevant"]
    assert made[1]["passages"][1]["meta"]["counterfactual_answer"] == "no"
    assert made[1]["passages"][2]["meta"]["keywords"] == "lamp"


def test_flags_of_passages_are_flags_of_their_row():
    rows = [released(passages=CELLS)] * 30
    own = {"name": "nq_test_k3", "dataset": "nq", "split": "test", "k": 3}
    made = convert("nova-groups", [json.dumps(rows).encode()], **own)
    told = [
        (row["flags"], {f for p in row["passages"] for f in p["flags"]}) for row in made.to_dicts()
    ]
    assert any(of_passages for _, of_passages in told)
    for flags, of_passages in told:
        ours = [flag for flag in flags if flag.startswith("passage:")]
        assert ours == [f"passage:{flag}" for flag in sorted(of_passages)]


def test_originals_know_which_questions_were_used_and_pools_keep_all_passages():
    asked = json.dumps([released("One?"), released("Two?")]).encode()
    used = json.dumps([released("Two?", passages=CELLS)]).encode()
    own = {"name": "original_nq_test", "dataset": "nq", "split": "test"}
    made = convert("nova-originals", [asked, json.dumps([]).encode(), used], **own)
    assert made["in_prepared"].to_list() == [False, True]
    assert made["id"].to_list() == ["nq-test-orig-a1"] * 2
    own = {"name": "noise_pool_bamboogle", "dataset": "bamboogle", "split": "test"}
    pools = convert("nova-pools", [json.dumps([released(passages=CELLS * 4)]).encode()], **own)
    assert [p["id"] for p in pools["passages"][0]] == [f"p{i}" for i in range(12)]


def test_names_of_questions_do_not_depend_on_how_they_are_set():
    same = (
        "Who wrote the Band's 1,200 songs?",
        "who wrote band 1200 songs",
        "WHO  wrote a bánd 1200 songs",
    )
    assert len({question_name(text) for text in same}) == 1
    assert question_name("Who wrote it?") != question_name("Who wrote them?")


def test_answers_of_many_files_are_one_table():
    head = (
        "question,target,response,seq_prob,extracted_answer,extracted_prob,extracted_prom46_score\n"
    )
    one = (head + 'who,Ann,"Guess: Ann\r\nProbability: 0.9",0.5,Ann,0.9,1.0\n').encode()
    two = (head + "who,Ann,nothing,0.1,,-1,\n").encode()
    parts = {"x/nq_big_model_verb_test.csv": one, "x/sciq_small_verb_train.csv": two}
    made = CONVERTERS["stated-answers"].convert(parts, name="any").to_dicts()
    assert [(r["dataset"], r["model"], r["split"]) for r in made] == [
        ("nq", "big_model", "test"),
        ("sciq", "small", "train"),
    ]
    assert made[0]["response"] == "Guess: Ann\nProbability: 0.9"
    assert (made[0]["author_confidence"], made[0]["judge_score"]) == (0.9, 1.0)
    assert (made[1]["author_confidence"], made[1]["judge_score"]) == (-1.0, None)


def test_questions_with_the_same_words_share_their_gold_passages():
    def cell(text):
        return {"title": "t", "text": text}

    lines = [
        {"question": "when was it lit", "answers": ["1871"], "ctxs": [cell("It was lit in 1871.")]},
        {"question": "who lit it", "answers": ["Ann"], "ctxs": [cell("It was lit in 1871.")]},
    ]
    oracle = gzip.compress("\n".join(map(json.dumps, lines)).encode())
    wiki = json.dumps([cell("Other."), cell("It was lit in 1871.")]).encode()
    nq = json.dumps([released("When was it lit?", gt_passage="Lit: 1871.")]).encode()
    parts = [oracle, wiki, nq, json.dumps([]).encode()]
    corpus = convert("retrieval-corpus", parts, name="corpus")
    assert corpus["id"].to_list() == ["nq0_0", "na-nq-a1", "tw0"]  # no text twice
    asked = convert("retrieval-questions", parts, name="questions").to_dicts()
    assert [row["gold_ids"] for row in asked] == [
        ["nq0_0", "na-nq-a1"],
        ["nq0_0"],
        ["nq0_0", "na-nq-a1"],
    ]
    assert asked[0]["same_as"] == ["naacl-nq-test-a1"]
    assert asked[1]["same_as"] == []


def test_a_table_is_known_by_its_rows_whatever_else_stands_beside_them(tmp_path):
    schema = {"a": pl.List(pl.Struct({"x": pl.Int64}))}
    frame = pl.DataFrame({"a": [[{"x": 1}], None]}, schema=schema)
    more = pl.DataFrame({"b": [0, 0], "a": [[{"y": 2, "x": 1}], None]})
    assert table_digest(frame, schema) == table_digest(more, schema)
    other = pl.DataFrame({"a": [[{"x": 2}], None]}, schema=schema)
    assert table_digest(frame, schema) != table_digest(other, schema)
    (tmp_path / "x.parquet").write_text("no table")
    assert not is_table(tmp_path / "x.parquet", "nova-groups", "")
    more.write_parquet(tmp_path / "x.parquet")
    assert not is_table(tmp_path / "x.parquet", "nova-groups", "")
