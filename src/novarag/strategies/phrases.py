"""Phrases by which a writer takes back what was written, in seven languages and some words of more.

Each is a piece of a regular expression of bounded length, in lower case.
"""

from __future__ import annotations

CORRECTING = (
    *("correction", "corrected", "correcting", r"corrig\w{2,6}", "errat(?:um|a)"),
    *("amend(?:ment|ed|ing)?", r"retract\w{0,3}", "scratch (?:that|this)", "second thoughts?"),
    *("strike (?:that|this|the above)", "take (?:that|it|this) back", r"re-?consider\w{0,3}"),
    "(?:on|upon) (?:reflection|reconsideration|closer|further)",
    "(?:thinking|looking|reading) (?:again|closer|closely|twice|about it (?:again|more))",
    "let me (?:rephrase|revise|redo|try again|restate|fix)",
    "i (?:really |actually )?(?:meant?|misread|misspoke|mistyped|misjudged|change my|take back)",
    "i (?:was (?:wrong|mistaken)|should have|made an? (?:mistake|error|slip))",
    *("my (?:real|true|actual|honest) (?:answer|confidence|figure|view)", "my mistake", "my bad"),
    "(?:forget|disregard|ignore|discard) (?:the above|all|that|this|what i|my|everything|it)",
    *("should (?:read|have been|have said|say)", "(?:make|call) (?:that|it) (?=[a-z0-9])"),
    *("in truth", "to be honest", "after all", "revis(?:e|ed|ing|ion)", "a slip", "typo"),
    # what refuses the question after all
    "i (?:cannot|can't|can not|could not|am unable to) (?:say|tell|answer|decide)",
    *("(?:give|have) no answer", "(?:is|are) not mine", "none of (?:this|that|it) is mine"),
    # German
    *("korrektur", r"korrigier\w{0,3}", r"berichtig\w{0,4}", "vielmehr", "besser gesagt"),
    *("ich mein(?:e|te)", "doch nicht", "verlesen"),
    # French
    *("en fait", "en réalité", "plutôt", r"je me (?:corrige|suis tromp\w{1,2})", "voulais dire"),
    r"rectifi\w{1,7}",
    # Spanish
    *("corrección", "en realidad", "mejor dicho", "quise decir", "quería decir", "me equivoqué"),
    # Italian
    *("correzione", "in realtà", "anzi", "volevo dire", r"mi (?:correggo|sono sbagliat\w)"),
    # Portuguese
    *("correção", "na verdade", "aliás", "quis dizer", "quero dizer", "melhor dizendo"),
    "me enganei",
)
"""What says so wherever it stands."""

CORRECTING_UNSPACED = (
    *("更正", "纠正", "其实", "实际上", "应该是", "应为", "改为", "改成", "不对", "说错", "抱歉"),
    *("訂正", "исправ", "на самом деле"),
)
"""The same of languages that write no spaces, or bend their words."""

OPENING = (
    *("actually", "wait", "hold on", "no", "nope", "hm{1,4}", "sorry", "oops", "whoops", "pardon"),
    *(r"apolog\w{3,6}", "edit", "update", r"p\.?s\.?", "better", "or rather", "rather", "i mean"),
    *("nein", "doch", "non", "pardon", "désolée?", "perdón", r"scusa\w{0,2}", "não", "desculpe"),
)
"""What says so where it opens a sentence and a stop or a comma follows."""

NAMING = (
    *("answer", "verdict", "conclusion", "solution", "result", "reply", "final", "it", "this"),
    *("that", "read", "antwort", "réponse", "respuesta", "risposta", "resposta"),
)
"""What names an answer, once a verb follows."""

BEING = ("is", "was", "'s", "’s", ":", "=", "->", "should be", "would be", "must be", "ist", "est")  # noqa: RUF001

DENYING = (
    *(r"\bnot", "n't", r"\bnicht", r"\bpas", r"\bno es", r"\bnon è", r"\bnão é", "instead of"),
    *("rather than", r"\breplaces?", r"\bstatt", r"\banstatt", "au lieu de", "en lugar de"),
    *("en vez de", "invece di", "em vez de", "不是"),
)
"""What denies the words behind it."""

DENIED = (
    *(r"not\b", "wrong", "incorrect", r"false\b", "mistaken", "falsch", "faux", "sbagliat"),
    *("errad", "equivocad", "->", "→", "=>"),
)
"""What denies the words before it."""

CONFIDENCE = (
    *(r"confiden\w{2}", r"certain\w{0,2}", "konfidenz", "confianza", "confiance", "fiducia"),
    "confiança",
)
"""What makes a number of a sentence a confidence."""

CHANGING = (
    *CONFIDENCE,
    *("probability", "likelihood", "sure", "figure", "number", "score", "estimate", "change"),
    *("set", "lower", "raise", "reduce", "increase", "adjust", "make", "put", "drop", "cut"),
    *("say", "closer"),
)
"""What does so in an afterthought."""
