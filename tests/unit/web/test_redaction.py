"""Keys in what a server says: found however they are spelled, and nothing else is touched."""

import random
import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.web.key_forms import is_secret
from novarag.web.redaction import MARK, PlainedText, Secrets
from tests.support.grammar import KINDS, reply
from tests.support.least import least
from tests.support.spellings import KEY, leaks, size_of, spellings

SECRETS = Secrets([KEY])
OTHER = "0f7c9e52-ab41-4d0e-9c1f-77aa31cb5e08"


def test_two_hundred_spellings_are_found_and_nothing_around_them_is_lost():
    found = spellings()
    assert len(found) >= 200
    missed = []
    for name, spell in found.items():
        spelled = spell(KEY)
        clean = SECRETS.redact(f"before {spelled} after")
        whole = clean.startswith("before ") and clean.endswith(" after") and MARK in clean
        if not whole or leaks(spelled, size_of(name), clean):
            missed.append((name, clean))
    assert missed == []


@pytest.mark.parametrize("start", range(0, len(KEY) - 12, 5))
def test_twelve_characters_are_the_key_and_eleven_are_not(start):
    assert SECRETS.redact(f"x {KEY[start : start + 12]} y") == f"x {MARK} y"
    eleven = f"x {KEY[start : start + 11]} y"
    assert SECRETS.redact(eleven) is eleven


@pytest.mark.parametrize(
    "key", ["EMPTY", "1", "token-abc123", "fifteen-letters", "a b c d e f g h i"]
)
def test_a_short_key_is_no_secret(key):
    text = f"none of them is {key} in 1871"
    assert not is_secret(key)
    assert Secrets([key]).redact(text) is text
    assert not Secrets([key])


def test_sixteen_characters_are_a_secret():
    assert Secrets(["sixteen-letters!"]).redact("(sixteen-letters!)") == f"({MARK})"


def test_every_key_is_looked_for():
    both = Secrets([KEY, OTHER])
    assert both.redact(f"{OTHER.upper()} and {KEY}") == f"{MARK} and {MARK}"
    assert SECRETS.redact(OTHER) == OTHER


@pytest.mark.parametrize("sign", list("!\"#$%&'()*,.:;<=>?@[\\]^`{|}~"))
def test_a_key_may_hold_any_sign(sign):
    key = sign.join(("Qx7", "Zp2", "LwV", "tR8", "mN3", "bHd"))
    for spelled in (key, "".join(f"\\u{ord(c):04x}" for c in key), " ".join(key)):
        assert SECRETS.redact(spelled) == spelled
        assert Secrets([key]).redact(f"x {spelled} y") == f"x {MARK} y"


@pytest.mark.parametrize("form", ["%25{:02x}", "%2525{:02x}", "&amp;#{};", "\\\\u0025{:02x}"])
def test_what_stands_before_and_after_layers_of_escapes_is_kept(form):
    spelled = "".join(form.format(ord(char)) for char in KEY)
    around = "50 %25 of éé \N{FIRE} &amp; \\u0041"
    assert SECRETS.redact(around + spelled + around) == around + MARK + around


def test_the_mark_does_not_complete_a_key():
    key = "sk-my-key-0123456789"
    clean = Secrets([key]).redact(f"sk-my-{key}-0123456789")
    assert "0123456789" not in clean


def test_parts_stay_as_many_as_they_are():
    parts = ["I", " was", " sent ", *KEY, ".", ""]
    clean = SECRETS.redact_parts(parts)
    assert len(clean) == len(parts)
    assert "".join(clean) == f"I was sent {MARK}."
    assert SECRETS.redact_parts(["I", " know"]) == ("I", " know")
    assert SECRETS.redact_parts([f"a{KEY}b", f"c{KEY}"]) == (f"a{MARK}b", f"c{MARK}")


def test_names_and_values_of_json_are_cleaned():
    said = {"a": [KEY, 1, None, {KEY: True}], "b": {"c": f"<{KEY}>"}}
    clean = {"a": [MARK, 1, None, {MARK: True}], "b": {"c": f"<{MARK}>"}}
    assert SECRETS.redact_tree(said) == clean
    assert Secrets([]).redact_tree(said) is said


def test_replies_without_the_key_stay_as_they_are():
    rng = random.Random(18)
    for number in range(2000):
        text = reply(rng, KINDS[number % len(KINDS)])
        assert SECRETS.redact(text) is text


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=20),
            st.sampled_from(("\\u0073", "%73", "&#115;", "&amp;", "\\", "c2s", "736b", KEY[:9])),
        )
    ).map("".join)
)
def test_text_is_changed_only_where_the_key_is(text):
    clean = SECRETS.redact(text)
    assert clean is text or MARK in clean
    assert SECRETS.redact(clean) is clean
    around = SECRETS.redact(f"{text}|{KEY}|{text}")
    assert leaks(KEY, len(KEY), around) is False


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(max_codepoint=0x3000), max_size=40))
def test_every_character_of_a_view_knows_where_it_stood(text):
    view = PlainedText(text)
    for place, char in enumerate(view.text):
        begin, end = view.origin(place, place)
        assert char in PlainedText(text[begin:end]).text


def test_a_hostile_text_takes_time_in_proportion():
    def took(text):
        began = time.process_time()
        SECRETS.redact(text)
        return time.process_time() - began

    for piece in ("\\u0073\\u006b ", KEY[:11] + " ", "%25" * 4, "&amp;", "ﬁ", KEY):
        short, long = piece * 400, piece * 4000
        limit = 25 * max(least(partial(took, short), 0.004), 0.004)
        assert least(partial(took, long), limit) < limit, piece
