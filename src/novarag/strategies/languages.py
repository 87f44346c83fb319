"""What models call an answer and a confidence where they write another language than the prompt.

German, French, Spanish, Italian, Portuguese and Chinese. All words are in lower case.
"""

from __future__ import annotations

TRANSLATIONS: dict[str, tuple[str, ...]] = {
    "answer": (
        *("antwort", "endantwort", "réponse", "respuesta", "risposta", "resposta"),
        *("答案", "回答", "答复"),
    ),
    "confidence": (
        *("konfidenz", "konfidenzwert", "konfidenzniveau", "konfidenzgrad", "zuversicht"),
        *("sicherheit", "vertrauen", "gewissheit", "confiance", "certitude", "confianza"),
        *("certeza", "seguridad", "fiducia", "confidenza", "certezza", "confiança"),
        *("置信度", "置信水平", "信心", "信心度", "可信度", "确信度", "把握", "自信度", "信心指数"),
    ),
}
"""Other words for a label."""

QUALIFIERS = (
    *("endgültige", "finale", "meine", "abschließende", "kurze", "richtige", "ma", "mon", "mi"),
    *("la mia", "mia", "a minha", "minha", "niveau de", "degré de", "taux de", "score de"),
    *("nivel de", "grado de", "índice de", "livello di", "grado di", "indice di", "nível de"),
    *("grau de", "最终的", "最终", "我的", "最后", "正确", "最佳"),
)
"""What may stand before such a word."""

AFTER = "final|finale|définitive|definitiva|correcta|corretta|correta|courte|corta|breve"
"""What may stand behind it."""

STEPS = "step|schritt|étape|etape|paso|passo|passaggio|fase|步骤|第"
"""Words for a step."""

OF_STEP = (
    "(?: (?:in|für|zu|von|de|del|do|da|di|per|para|pour|en|dans|na|no|al|à))?"
    "(?: l['\u2019]| la| le)?"
)
"""What joins a label to the step that follows it, as in "confianza del paso 2"."""

HEDGES = (
    "about|approximately|approx\\.?|around|roughly|circa|ca\\.|some|etwa|ungefähr|environ"
    "|aproximadamente|alrededor de|cerca de|cerca del|约|大约|大概"
)
"""Words before a number that leave it as it is."""

PERCENT = (
    "percent\\b|per cent\\b|pct\\b|prozent\\b|pour cent\\b|por ciento\\b|per cento\\b|por cento\\b"
)
"""Words for the sign behind a number."""


def translated(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of labels in other languages."""
    return tuple(t for word in words for t in TRANSLATIONS.get(word, ()))
