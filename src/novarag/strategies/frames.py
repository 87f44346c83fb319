"""Frames: labels that a passage cannot forge, because it cannot know them.

The prompt asks for `Answer[7f3a2c]:` instead of `Answer:`, and the reader takes such labels alone.
In a run the frame follows from a secret of the run and from the group, so a resumed run asks what
it asked before; at a desk the secret is fresh for each question.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.defaults import ASK
from novarag.errors import UsageError
from novarag.records import Prompt
from novarag.strategies.reader import read

if TYPE_CHECKING:
    from novarag.records import PassageGroup, Reading
    from novarag.strategies.table import Strategy
    from novarag.strategies.template import Template

# Labels of the prompt whose lines get a frame, where it goes in, and one that stands there:
# "Answer[3f09ab]:".
_LABEL = re.compile(r"(Passage Classifications|Group Judgment|Confidence|Answer):")
_PLACE = re.compile(
    "(?:(?<=Passage Classifications)|(?<=Group Judgment)|(?<=Confidence)|(?<=Answer))(?=:)"
)
_FRAME = re.compile(r"^(?:Answer|Group Judgment)\[([0-9a-f]{6})\]:", re.MULTILINE)
_DIGITS = 6  # of a frame, which make 16 million of them


def fresh_secret() -> str:
    """Draw a secret that frames are made from."""
    return secrets.token_hex(16)


@cache
def _cut(template: Template) -> tuple[list[str], ...]:
    """Cut the pieces of a template where frames go."""
    return tuple(_PLACE.split(piece) for piece in template.pieces)


def put_frame(text: str, frame: str) -> str:
    """Frame every label of our own text: a template, or a reply that is made up.

    >>> put_frame("Answer: 1871", "7f3a2c")
    'Answer[7f3a2c]: 1871'
    """
    return f"[{frame}]".join(_PLACE.split(text))


def frame_in(prompt: str) -> str | None:
    """Return the frame that a prompt asks for: the one in its last lines, which are ours."""
    found = _FRAME.findall(prompt)
    return found[-1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedStrategy:
    """A strategy whose labels carry a frame, another for every group."""

    strategy: Strategy
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if self.strategy.cites is not None:
            raise UsageError.saying(
                "{!r} quotes the paper's wording and takes no `frame`", self.strategy.name
            )
        if not _LABEL.search(self.strategy.template.text):
            raise UsageError.saying(
                "the template of {!r} has no label for a `frame`", self.strategy.name
            )

    @property
    def name(self) -> str:
        """The name of the strategy."""
        return self.strategy.name

    @property
    def template(self) -> Template:
        """The template, before it is framed."""
        return self.strategy.template

    def once(self) -> FramedStrategy:
        """Return the same with one frame, freshly drawn for one question."""
        return _FramedQuestion(strategy=self.strategy, secret=fresh_secret())

    def frame(self, group: PassageGroup) -> str:
        """Return the frame of a group."""
        filled = self.strategy.template.fill(group).encode("utf-8", "surrogatepass")
        return hmac.new(self.secret.encode(), filled, sha256).hexdigest()[:_DIGITS]

    def render(self, group: PassageGroup) -> Prompt:
        """Fill the framed template with a question and its passages."""
        template = self.strategy.template
        frame = f"[{self.frame(group)}]"
        text = template.fill(group, [*map(frame.join, _cut(template))])
        return Prompt(text=text, strategy=self.name, template_hash=template.hash)

    def read(self, reply: str, *, group: PassageGroup, truncated: bool = False) -> Reading:
        """Read the framed parts of a reply; nothing else in it counts."""
        labels = self.strategy.labels.framed(self.frame(group))
        return read(reply, labels, k=len(group.passages), truncated=truncated)

    def pattern(self, group: PassageGroup, *, step_length: int = ASK.step_length) -> str:
        """Return the regular expression of replies to the prompt of a group."""
        return self.hold(self.strategy.pattern(len(group.passages), step_length=step_length), group)

    def hold(self, form: str, group: PassageGroup) -> str:
        """Frame the labels of a regular expression."""
        return _LABEL.sub(rf"\1\\[{self.frame(group)}\\]:", form)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FramedQuestion(FramedStrategy):
    """A strategy whose labels carry one frame, drawn for one question."""

    def __post_init__(self) -> None:
        """Check nothing: it comes from a framed strategy."""

    def frame(self, group: PassageGroup) -> str:  # noqa: ARG002 - it is asked about one alone
        """Return the frame."""
        return self.secret[:_DIGITS]
