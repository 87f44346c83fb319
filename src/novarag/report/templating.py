"""How every page is made: one stylesheet, one set of parts, one security policy."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.atomic import write_whole
from novarag.formatting import fixed_percent, format_count, hundredths, whole_percent
from novarag.texts import escape_markdown, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jinja2 import Template

COLOURS, PICTURES, PAGE = "tokens.css", "pictures.css", "page.css"
"""The stylesheet: colours, the rules of pictures (a picture by itself has these two), the page."""


@lru_cache(maxsize=32)
def template_text(name: str) -> str:
    """Return a file of the templates."""
    return files("novarag.report").joinpath("templates", name).read_text("utf-8")


def text_hash(text: str) -> str:
    """Return what the page's security policy knows its style or its script by."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def picture_style() -> str:
    """Return the style of a picture that is a file of its own."""
    return template_text(COLOURS) + template_text(PICTURES)


def open_template(
    name: str, *, escape: bool, filters: Mapping[str, Callable[..., str]] | None = None
) -> Template:
    """Open a template; every foreign text in it is escaped. `filters` are more of its own."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # a page may not be wanted

    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=escape,  # noqa: S701 - the Markdown template escapes with a filter of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"md": escape_markdown, "shown": plain_text, "whole": format_count}
    environment.filters |= {f.__name__: f for f in (fixed_percent, hundredths, whole_percent)}
    environment.filters |= filters or {}
    return environment.get_template(name)


def render_page(
    name: str,
    *,
    style: str = "",
    script: str = "",
    filters: Mapping[str, Callable[..., str]] | None = None,
    **content: object,
) -> str:
    """Render one self-contained page; it may run `script`, a file of ours, and nothing else.

    `style` names a file of rules beyond those that every page has.
    """
    rules = picture_style() + template_text(PAGE) + (template_text(style) if style else "")
    code = template_text(script) if script else ""
    return open_template(name, escape=True, filters=filters).render(
        **content,
        style=Markup(rules),  # noqa: S704 - our own files
        style_hash=text_hash(rules),
        script=Markup(code),  # noqa: S704 - our own file
        script_hash=text_hash(code),
    )


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the files of a report into a folder, each whole or not at all."""
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8"))
    return [folder / name for name in texts]
