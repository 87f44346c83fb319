"""What turns texts into vectors must look like, and how it is told apart from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderIdentity:
    """Which encoder made a vector; vectors of two identities must not meet in one index.

    `revision` is the commit of the weights, or a hash of the files that decide the vectors, or
    "unknown" where a server does not say. `max_tokens` is None where nobody knows it.
    """

    name: str
    revision: str
    dim: int
    max_tokens: int | None
    pooling: str
    normalised: bool


class Encoder(Protocol):
    """Anything that turns texts into vectors of one length."""

    @property
    def identity(self) -> EncoderIdentity:
        """Which encoder this is."""
        ...

    async def encode(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return one row per text, in their order; `query` where the texts are questions."""
        ...
