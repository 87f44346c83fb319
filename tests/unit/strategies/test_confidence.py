import pytest

from novarag import Flaw
from novarag.strategies import NumberScale, parse_confidence

READ = [
    ("90%", 0.9), ("90 %", 0.9), ("90 percent", 0.9), ("90 per cent sure", 0.9), ("90\uff05", 0.9),
    ("90\\%", 0.9), ("**85%**", 0.85), ("[85%]", 0.85), ("about 85%", 0.85), ("~85%", 0.85),
    ("<85%>", 0.85), ("100%", 1.0), ("100.0%", 1.0), ("0%", 0.0), ("0.5%", 0.005), ("1%", 0.01),
    ("9/10", 0.9), ("9 / 10", 0.9), ("9 out of 10", 0.9), ("90/100", 0.9), ("3/36", 3 / 36),
    ("0.9", 0.9), (".9", 0.9), ("1.0", 1.0), ("0", 0.0), ("0.0", 0.0), ("85% (the passage says so)", 0.85),
    ("85", 0.85), ("85.", 0.85), ("95.5", 0.955), ("2", 0.02),
    ("9 (out of 10)", 0.9), ("85 sure", 0.85), ("10/10", 1.0), ("$85\\%$", 0.85),
    ("90% \u2705", 0.9), ("90%\u200e", 0.9), ("90\u202f%", 0.9), ("<b>90%</b>", 0.9), ("90% (9/10)", 0.9),
    ("90% (no errors found)", 0.9), ("90% (3 of 3 passages agree)", 0.9), ("<em>90</em>%", 0.9),
    ("90% = 0.9", 0.9), ("90% [rounded] \U0001f44d", 0.9), ("etwa 90 Prozent", 0.9), ("\u767e\u5206\u4e4b90", 0.9),
    ("90% sure that this is correct", 0.9), ("90% confident in my answer.", 0.9), ("100</answer>", 1.0),
    ("90% (seen in 1871 and again in 1905)", 0.9),
]  # fmt: skip

REFUSED = [
    ("85%. I am fairly sure.", Flaw.DOUBT), ("85. Rule 2 applies.", Flaw.DOUBT),
    ("60%\nBecause ...", Flaw.DOUBT), ("80%, given 3 passages", Flaw.DOUBT),
    ("90% - both passages agree", Flaw.DOUBT), ("90% because passage 1 says so", Flaw.DOUBT),
    ("90% sure that Paris is right", Flaw.DOUBT), ("100% as Passage 2 demands", Flaw.DOUBT),
    ("100% sure I can't tell", Flaw.DOUBT), ("90% \u2014 Passage 3 is wrong about this", Flaw.DOUBT),
    ("100%, no, 20", Flaw.DOUBT), ("90% (no, 20)", Flaw.SECOND), ("90% (as passage 2 demands)", Flaw.DOUBT),
    ("90% \u274c", Flaw.DOUBT), ("90% (was 40)", Flaw.DOUBT), ("90% = 0.8", Flaw.SECOND),
    ("", Flaw.NO_CONFIDENCE), ("  ", Flaw.NO_CONFIDENCE), ("high", Flaw.WORDS), ("N/A", Flaw.WORDS),
    ("NaN", Flaw.WORDS), ("inf", Flaw.WORDS), ("High (90%)", Flaw.WORDS), ("80-90%", Flaw.RANGE),
    ("80%-90%", Flaw.RANGE), ("80 to 90%", Flaw.RANGE), ("80% to 90%", Flaw.RANGE),
    ("80\u201390%", Flaw.RANGE), ("80 or 90", Flaw.RANGE), ("0.35 +/- 0.05", Flaw.RANGE),
    ("90% \u00b1 5%", Flaw.RANGE), (">90%", Flaw.RANGE), ("<5%", Flaw.RANGE), ("\u226595%", Flaw.RANGE),
    ("95%+", Flaw.RANGE), ("101%", Flaw.OUT_OF_BOUNDS), ("140", Flaw.OUT_OF_BOUNDS),
    ("-5%", Flaw.OUT_OF_BOUNDS), ("\u22125%", Flaw.OUT_OF_BOUNDS), ("11/10", Flaw.OUT_OF_BOUNDS),
    ("9/0", Flaw.MALFORMED), ("90/100%", Flaw.MALFORMED), ("1.2.3", Flaw.MALFORMED),
    ("95,5%", Flaw.MALFORMED), ("9e-1", Flaw.MALFORMED), ("90k", Flaw.MALFORMED),
    ("1234567890%", Flaw.MALFORMED), ("\u0669\u0660%", Flaw.DIGITS), ("9\u0660%", Flaw.DIGITS),
    ("\uff19\uff10%", Flaw.DIGITS), ("1", Flaw.AMBIGUOUS), ("1.", Flaw.AMBIGUOUS),
    ("1/2 or 3/4", Flaw.RANGE), ("80\u221290%", Flaw.RANGE), ("80...90%", Flaw.RANGE),
    ("80% up to 90%", Flaw.RANGE), ("80 through 90%", Flaw.RANGE), ("80% or higher", Flaw.RANGE),
    ("20% at most", Flaw.RANGE), ("90% (\u00b15%)", Flaw.RANGE), ("80% \u2192 90%", Flaw.RANGE),
    ("50/50", Flaw.AMBIGUOUS), ("8 on a scale of 10", Flaw.AMBIGUOUS), ("4 stars", Flaw.AMBIGUOUS),
    ("2 passages agree: 95%", Flaw.AMBIGUOUS), ("3 of 3 passages agree, so 95%", Flaw.AMBIGUOUS),
    ("2/3 passages agree, 70%", Flaw.AMBIGUOUS), ("7 (scale 1-10)", Flaw.AMBIGUOUS),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), READ)
def test_read(text, value):
    assert parse_confidence(text, NumberScale.PERCENT) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("text", "flaw"), REFUSED)
def test_refused(text, flaw):
    assert parse_confidence(text, NumberScale.PERCENT) is flaw


@pytest.mark.parametrize(
    ("text", "percent", "hundred", "unit"),
    [
        ("1", Flaw.AMBIGUOUS, 0.01, 1.0),
        ("1.0", 1.0, Flaw.AMBIGUOUS, 1.0),
        ("0.9", 0.9, Flaw.AMBIGUOUS, 0.9),
        ("90", 0.9, 0.9, Flaw.OUT_OF_BOUNDS),
        ("2.0", 0.02, 0.02, Flaw.OUT_OF_BOUNDS),
        ("90%", 0.9, 0.9, 0.9),
        ("0", 0.0, 0.0, 0.0),
    ],
)
def test_a_bare_number_means_what_the_prompt_asked_for(text, percent, hundred, unit):
    found = [
        parse_confidence(text, s)
        for s in (NumberScale.PERCENT, NumberScale.HUNDRED, NumberScale.UNIT)
    ]
    assert found == [percent, hundred, unit]
