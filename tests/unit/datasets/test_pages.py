"""Folders of text, Markdown and HTML: a document a file, as a reader sees it."""

import time

import pytest

from novarag.datasets.corpus import LARGEST, find_files, html_text, iter_documents
from novarag.errors import DataError


def documents(*paths):
    return [(d.id, d.title, d.text) for d in iter_documents(paths)]


def test_a_folder_of_pages(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.txt").write_bytes("caf\u00e9 \u2013 open".encode("cp1252"))
    (tmp_path / "deep" / "b.md").write_text("\ufeff# The *lamp*\n\nLit in 1871.\n", "utf-8")
    (tmp_path / "c.HTML").write_text("<title>Ink</title><p>Black<p>Blue &amp; red", "utf-8")
    (tmp_path / "d.txt").write_text("deux", "utf-16")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert documents(tmp_path) == [
        ("a.txt", "a", "café \u2013 open"),
        ("c.HTML", "Ink", "Black\nBlue & red"),
        ("d.txt", "d", "deux"),
        ("deep/b.md", "The *lamp*", "# The *lamp*\n\nLit in 1871."),
    ]
    assert documents(tmp_path / "a.txt") == [("a.txt", "a", "café \u2013 open")]


def test_pages_beside_tables_are_left_alone(tmp_path):
    (tmp_path / "README.md").write_text("about the corpus")
    (tmp_path / "corpus.jsonl").write_text('{"id": "d", "text": "words"}\n')
    assert documents(tmp_path) == [("d", "", "words")]


def test_a_folder_with_neither_says_what_it_wants(tmp_path):
    with pytest.raises(DataError, match=r"there is no corpus.*\.jsonl.*\.html"):
        find_files(tmp_path)


def test_a_page_is_not_larger_than_a_book(tmp_path):
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(DataError, match="are the most"):
        documents(tmp_path)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a<!-- <p>b --> c", "a c"),
        ("a<script>if (1 < 2) { '<p>b</p>' }</script>c<style>p{}</style>d", "acd"),
        ("<SCRIPT SRC=x>b</Script >c", "c"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("<p>one<br/>two</p>three<b>four</b>", "one\ntwo\nthreefour"),
        ("a<script>never closed <p>b", "a"),
        ("a<!-- never closed <p>b", "a"),
        ("&lt;script&gt;", "<script>"),
        ("<!DOCTYPE html><?xml v?>a", "a"),
        ("<", "<"),
    ],
)
def test_what_a_reader_sees(source, text):
    assert html_text(source)[1] == text


@pytest.mark.parametrize("piece", ["<", "<a ", "<!--", "<a b=", "</", "<?", "<title", "&#", "<svg"])
def test_broken_pages_cost_what_they_are_long(piece):
    def spent(count):
        start = time.process_time()
        html_text(piece * count)
        return time.process_time() - start

    short, long = min(spent(4000) for _ in range(3)), min(spent(32000) for _ in range(3))
    assert long <= 20 * short + 0.02
