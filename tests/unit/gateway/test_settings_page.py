"""The page of every setting is that of the models which check a settings file."""

import pytest

from tools import settings_page


def test_the_page_is_as_the_settings_are():
    made = settings_page.make_page()
    assert settings_page.PAGE.read_text("utf-8") == made, "run `make openapi-docs`"
    assert "| `drain` | number, over 0 to 3,600 | `25` |" in made


def test_a_key_that_nobody_explained_is_refused(monkeypatch):
    name, known = settings_page.PARTS["[logs]"]
    monkeypatch.setitem(settings_page.PARTS, "[logs]", (name, known | {"other": "of nothing"}))
    with pytest.raises(ValueError, match="other"):
        settings_page.make_page()
    monkeypatch.delitem(settings_page.PARTS, "[logs]")
    with pytest.raises(ValueError, match="LogSettings"):
        settings_page.make_page()
