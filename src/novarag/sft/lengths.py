"""The model's own tokenizer, as a ruler: what is too long is rejected, never cut.

The confidence stands at the end of a completion, so a sample that a trainer cuts teaches a reply
without one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.defaults import EXPORT
from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.sft.examples import TrainingExample

MAX_LENGTH = EXPORT.max_length
"""The longest sample in tokens, prompt and completion together (the paper's figure)."""

SPECIAL = "a text holds a special token of the model"
CHANGED = "the chat template does not keep the texts whole"
_THINKING = frozenset({"<think>", "</think>"})  # ours, around reasoning that was kept apart
# Some templates write today's date into every prompt; the same export must not change overnight.
DATE = "26 Jul 2024"


def too_long(longest: int) -> str:
    """Name the reason of a sample with more tokens than that."""
    return f"longer than {longest} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRuler:
    """A tokenizer with a chat template, and the length that no sample may exceed."""

    tokenizer: Any
    name: str
    longest: int = MAX_LENGTH
    special: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.tokenizer.chat_template:
            raise UsageError(
                f"the tokenizer {self.name!r} has no chat template; name the tokenizer of a chat"
                " model"
            )
        added = self.tokenizer.added_tokens_decoder.values()
        names = {*self.tokenizer.all_special_tokens, *(str(t) for t in added if t.special)}
        object.__setattr__(self, "special", tuple(sorted(names - _THINKING)))

    def measure(self, example: TrainingExample) -> tuple[int, str | None]:
        """Count the tokens of a sample in its chat template, and say what is wrong with it."""
        text = self.templated(example)
        tokens = len(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return tokens, self._fault(example, text, tokens)

    def begins_as_asked(self, example: TrainingExample) -> bool:
        """Say whether a sample begins with the very tokens that the model is asked with."""
        _, asked = self.render(example.prompt)
        tokens = self.tokenizer(self.templated(example), add_special_tokens=False)["input_ids"]
        return list(tokens[: len(asked)]) == asked

    def render(self, prompt: str) -> tuple[str, list[int]]:
        """Put a question in the chat template, up to where the model begins; with its tokens."""
        messages = [{"role": "user", "content": prompt}]
        text = str(
            self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, date_string=DATE
            )
        )
        return text, list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def templated(self, example: TrainingExample) -> str:
        """Put a question and its answer in the chat template."""
        messages = [
            {"role": "user", "content": example.prompt},
            {"role": "assistant", "content": example.completion},
        ]
        from jinja2 import TemplateError

        try:
            made = self.tokenizer.apply_chat_template(messages, tokenize=False, date_string=DATE)
        except TemplateError as error:
            raise UsageError(
                f"the chat template of {self.name!r} refuses a question and its answer:"
                f" {plain_text(str(error))}"
            ) from error
        return str(made)

    def _fault(self, example: TrainingExample, text: str, tokens: int) -> str | None:
        if any(
            name in part for part in (example.prompt, example.completion) for name in self.special
        ):
            return SPECIAL
        kept = " ".join(text.split())  # templates may trim a text, which changes nothing
        if any(" ".join(p.split()) not in kept for p in (example.prompt, example.completion)):
            return CHANGED
        return too_long(self.longest) if tokens > self.longest else None

    @property
    def fingerprint(self) -> str:
        """Return a hash of the vocabulary and the chat template."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        words = backend.to_str() if backend is not None else repr(self.tokenizer.get_vocab())
        return sha256(f"{words}\x1f{self.tokenizer.chat_template}".encode()).hexdigest()


def load_ruler(place: str, *, longest: int = MAX_LENGTH) -> TokenRuler:
    """Load the tokenizer of a model from its folder or by its name; none of its code is run."""
    try:
        from transformers import AutoTokenizer, logging
    except ImportError:
        raise UsageError(f"a tokenizer needs: {with_extra('tokenizer')}") from None
    logging.set_verbosity_error()  # a warning for each long text says nothing that we do not
    name = Path(place).resolve().name if Path(place).exists() else place
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except (OSError, ValueError) as error:
        said = plain_text(" ".join(str(error).split()), longest=300)
        raise UsageError(f"the tokenizer {place!r} cannot be loaded: {said}") from error
    return TokenRuler(tokenizer=tokenizer, name=name, longest=longest)
