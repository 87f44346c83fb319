"""Documents into passages: so many words each, the title on top of every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.defaults import INDEX
from novarag.errors import UsageError
from novarag.records import Passage
from novarag.taxonomy import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from novarag.records import Document

_LONGEST_WORD = 100  # characters; what is longer is no word, as in a script without spaces
_LONGEST_TITLE = 1000  # characters, as it stands in every chunk


def cut(documents: Iterable[Document], *, words: int = INDEX.words) -> Iterator[Passage]:
    r"""Cut each document evenly into passages of at most so many words; 0 keeps it whole.

    A document of one passage keeps its spaces and lines, and the passage its id; of several, the
    passages are numbered.

    >>> from novarag.records import Document
    >>> given = Document(id="d", title="Ink", text="one two three four five")
    >>> [(p.source, p.text) for p in cut([given], words=3)]
    [('d#1', 'Ink\none two three'), ('d#2', 'Ink\nfour five')]
    """
    if words < 0:
        raise UsageError(f"a passage cannot have {words} words")
    for document in documents:
        yield from _passages(document, words)


def other_name(name: str) -> str | None:
    """Return what a passage would be called, were its document cut otherwise.

    >>> other_name("d"), other_name("d#1"), other_name("d#2")
    ('d#1', 'd', None)
    """
    before, found, number = name.rpartition("#")
    if not found or not number.isdecimal():
        return f"{name}#1"
    return before if number == "1" else None


def _passages(document: Document, words: int) -> Iterator[Passage]:
    found = [piece for word in document.text.split() for piece in _pieces(word)]
    count = -(-len(found) // words) if words else 1
    title = document.title[:_LONGEST_TITLE]
    top = f"{' '.join(title.split())}\n" if title.strip() else ""
    if count <= 1:
        yield _passage(top + document.text, document.id)
        return
    short, longer = divmod(len(found), count)
    start = 0
    for number in range(count):
        end = start + short + (number < longer)
        yield _passage(top + " ".join(found[start:end]), f"{document.id}#{number + 1}")
        start = end


def _pieces(word: str) -> Iterable[str]:
    if len(word) <= _LONGEST_WORD:
        return (word,)
    return (word[i : i + _LONGEST_WORD] for i in range(0, len(word), _LONGEST_WORD))


def _passage(text: str, name: str) -> Passage:
    return Passage(text=text, source=name, provenance=Provenance.RETRIEVED)
