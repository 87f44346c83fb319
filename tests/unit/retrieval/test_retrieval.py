"""What stands before the engine: corpora, passages, manifests, files."""

import json
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag.datasets.corpus import iter_documents
from novarag.datasets.groups import iter_questions
from novarag.errors import DataError, UnknownNameError, UsageError
from novarag.records import Document
from novarag.retrieval.chunks import cut
from novarag.retrieval.encoding import EncoderIdentity
from novarag.retrieval.fusion import fuse
from novarag.retrieval.lite import check_file, is_file
from novarag.retrieval.manifest import (
    IndexManifest,
    differences,
    read_manifest,
    write_manifest,
)

MINI = EncoderIdentity(
    name="mini", revision="abc", dim=4, max_tokens=256, pooling="mean", normalised=True
)


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@given(st.text(max_size=400), st.integers(1, 12), st.text(max_size=20))
def test_passages_hold_every_word_once_evenly_and_under_the_title(text, words, title):
    found = list(cut([Document(id="d", text=text, title=title)], words=words))
    head = " ".join(title.split())
    bodies = []
    for passage in found:
        if head:
            assert passage.text.startswith(head + "\n")
        bodies.append(passage.text.removeprefix(head + "\n" if head else ""))
    assert [w for body in bodies for w in body.split()] == text.split()
    sizes = [len(body.split()) for body in bodies]
    assert max(sizes) <= words
    assert max(sizes) - min(sizes) <= 1 or len(sizes) == 1
    assert len({p.source for p in found}) == len(found)


def test_passages_are_cut_evenly():
    given = Document(id="d", text=" ".join("abcdefg"))
    assert [len(p.text.split()) for p in cut([given], words=3)] == [3, 2, 2]
    assert [len(p.text.split()) for p in cut([given], words=6)] == [4, 3]


def test_what_both_rank_tenth_does_not_beat_what_one_ranks_first():
    one, other = [f"a{i}" for i in range(9)], [f"b{i}" for i in range(9)]
    assert fuse([[*one, "both"], [*other, "both"]])[:2] == ["a0", "b0"]


def test_a_whole_document_keeps_its_lines():
    given = Document(id="d", text="one\n\n  two three", title="T")
    assert [p.text for p in cut([given])] == ["T\none\n\n  two three"]
    assert [p.text for p in cut([given], words=0)] == ["T\none\n\n  two three"]


def test_a_word_without_end_is_cut():
    found = list(cut([Document(id="d", text="x" * 100_000)], words=100))
    assert len(found) == 10
    assert max(len(p.text.encode()) for p in found) < 65_535


def test_negative_words_are_refused():
    with pytest.raises(UsageError, match="-1 words"):
        list(cut([Document(id="d", text="x")], words=-1))


def test_corpora_as_people_keep_them(tmp_path):
    write(tmp_path / "beir.jsonl", {"_id": "b1", "title": "Ink", "text": "Black."})
    write(tmp_path / "plain.jsonl", {"contents": "No id here."}, {"id": 7, "body": "A number."})
    pl.DataFrame({"id": ["p"], "title": [None], "text": ["From Parquet."]}).write_parquet(
        tmp_path / "z.parquet"
    )
    (tmp_path / "notes.txt").write_text("not a corpus", "utf-8")
    found = list(iter_documents([tmp_path]))
    assert [(d.title, d.text) for d in found] == [
        ("Ink", "Black."), ("", "No id here."), ("", "A number."), ("", "From Parquet."),
    ]  # fmt: skip
    assert [d.id for d in found][::2] == ["b1", "7"]
    assert found[1].id == next(iter_documents([tmp_path / "plain.jsonl"])).id  # from the text


def test_a_title_alone_is_a_text(tmp_path):
    path = write(tmp_path / "c.jsonl", {"_id": "t", "title": "Only a title", "text": ""})
    (found,) = iter_documents([path])
    assert (found.title, found.text) == ("", "Only a title")


def test_a_document_without_text_is_named(tmp_path):
    path = write(tmp_path / "c.jsonl", {"id": "a", "text": "Good."}, {"id": "b", "text": " "})
    with pytest.raises(DataError, match=r"row 2.*text is empty"):
        list(iter_documents([path]))


def test_an_id_must_be_of_use(tmp_path):
    path = write(tmp_path / "c.jsonl", {"id": "x" * 501, "text": "Good."})
    with pytest.raises(DataError, match="501 characters"):
        list(iter_documents([path]))


def test_an_empty_folder_is_no_corpus(tmp_path):
    with pytest.raises(DataError, match="no corpus"):
        list(iter_documents([tmp_path]))


def test_questions_need_no_passages_and_may_be_called_qid(tmp_path):
    path = write(tmp_path / "q.jsonl", {"qid": "a", "question": "Who?", "answers": ["Ann"]})
    (question,) = iter_questions(path)
    assert (question.id, question.text, question.answers) == ("a", "Who?", ("Ann",))


def test_a_manifest_survives_its_own_writing():
    for manifest in (
        IndexManifest(),
        IndexManifest(k1=1.2, b=0.75, analyzer="plain", encoder=MINI),
    ):
        assert read_manifest(write_manifest(manifest), source="x") == manifest


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null", '{"format": 9}', '{"format": 1}'])
def test_what_is_no_manifest_of_ours_is_refused(text):
    with pytest.raises(DataError, match="not one of ours"):
        read_manifest(text, source="x.db")


def test_another_analysis_under_the_same_name_is_refused():
    told = json.loads(write_manifest(IndexManifest()))
    told["analysis"]["filter"][1]["stop_words"].append("who")
    with pytest.raises(DataError, match="not one of ours"):
        read_manifest(json.dumps(told), source="x.db")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"b": 0.75}, ["b is 0.4 there, 0.75 here"]),
        ({"words": 0}, ["words is 100 there, 0 here"]),
        (
            {"encoder": replace(MINI, revision="def")},
            ["the encoder's revision is abc there, def here"],
        ),
        ({"encoder": None}, ["the encoder is mini there, none here"]),
    ],
)
def test_manifests_say_in_what_they_differ(change, said):
    ours = IndexManifest(encoder=MINI)
    assert differences(ours, replace(ours, **change)) == said
    assert differences(ours, ours) == []


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="b in 0 to 1"):
        IndexManifest(b=2)
    with pytest.raises(UnknownNameError):
        IndexManifest(analyzer="klingon")
    with pytest.raises(UnknownNameError):
        IndexManifest(vectors="magic")


def test_a_file_or_a_server(tmp_path):
    assert is_file("index.db")
    assert not is_file("http://localhost:19530")
    with pytest.raises(UsageError, match=r"ends in \.db"):
        check_file(str(tmp_path / "index.sqlite"), must_exist=False)
    with pytest.raises(UsageError, match="at most 36"):
        check_file(str(tmp_path / ("x" * 40 + ".db")), must_exist=False)
    with pytest.raises(UsageError, match="there is no index"):
        check_file(str(tmp_path / "x.db"), must_exist=True)
    check_file(str(tmp_path / "new" / "x.db"), must_exist=False)
    assert (tmp_path / "new").is_dir()
