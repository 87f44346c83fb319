"""Words and signs by which people and programs write that an answer is right, wrong or not graded.

English, German, French, Spanish, Italian, Portuguese, Chinese and Japanese. A word stands here only
if it means the same in each of them: what may mean either, and what is in no table, is for the
caller to settle.
"""

from __future__ import annotations

from typing import NamedTuple

from novarag.answers.cells.cell import key_of


class GradeWords(NamedTuple):
    """The words of one language, each under what it means."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    ungraded: tuple[str, ...] = ()


WORDS: dict[str, GradeWords] = {
    "signs": GradeWords(
        right=(
            *(":thumbsup:", ":+1:", "\U0001f44d", "\u2713", "\u2714", "\u2705", "\u2611"),
            "\U0001f5f8",
        ),
        wrong=(
            *(":thumbsdown:", ":-1:", "\U0001f44e", "\u2717", "\u2718", "\u274c", "\u2715"),
            *("\u2716", "\u2612", "\u00d7"),
        ),
    ),
    "English": GradeWords(
        right=(
            *("true", "t", "yes", "y", "right", "correct", "up", "thumb up", "thumbs up"),
            *("thumbup", "thumbsup", "pass", "passed", "good", "positive", "like", "liked"),
            *("success", "ok"),
        ),
        wrong=(
            *("false", "f", "no", "n", "wrong", "incorrect", "down", "thumb down", "thumbs down"),
            *("thumbdown", "thumbsdown", "fail", "failed", "bad", "negative", "dislike"),
            *("disliked", "failure", "not correct", "not right"),
        ),
        ungraded=(
            "not graded",
            "ungraded",
            "not rated",
            "unrated",
            "not evaluated",
            "not reviewed",
        ),
    ),
    "German": GradeWords(
        right=(
            *("wahr", "ja", "richtig", "korrekt", "stimmt", "zutreffend", "gut", "bestanden"),
            *("positiv", "daumen hoch", "gefällt mir", "erfolg"),
        ),
        wrong=(
            *("falsch", "nein", "unwahr", "nicht richtig", "nicht korrekt", "inkorrekt"),
            *("stimmt nicht", "unzutreffend", "nicht zutreffend", "schlecht", "nicht bestanden"),
            *("durchgefallen", "negativ", "daumen runter", "gefällt mir nicht"),
        ),
        ungraded=("nicht bewertet", "unbewertet", "nicht geprüft", "ungeprüft", "k.a.", "k. a."),
    ),
    "French": GradeWords(
        right=(
            *("vrai", "oui", "juste", "correcte", "exact", "exacte", "bon", "bonne", "réussi"),
            *("réussie", "positif", "positive", "pouce levé", "j'aime", "j\u2019aime", "succès"),
        ),
        wrong=(
            *("faux", "fausse", "non", "incorrecte", "inexact", "inexacte", "mauvais", "mauvaise"),
            *("échoué", "échouée", "échec", "négatif", "négative", "pouce baissé"),
            *("je n'aime pas", "je n\u2019aime pas"),
        ),
        ungraded=("non évalué", "non évaluée", "non noté", "non notée", "pas évalué", "pas noté"),
    ),
    "Spanish": GradeWords(
        right=(
            *("verdadero", "verdadera", "sí", "si", "correcto", "correcta", "acertado", "acertada"),
            *("bien", "bueno", "buena", "aprobado", "aprobada", "positivo", "positiva"),
            *("pulgar arriba", "me gusta", "acierto", "éxito"),
        ),
        wrong=(
            *("falso", "falsa", "incorrecto", "incorrecta", "erróneo", "errónea", "equivocado"),
            *("equivocada", "mal", "malo", "mala", "suspendido", "negativo", "negativa"),
            *("pulgar abajo", "no me gusta"),
        ),
        ungraded=("sin calificar", "sin evaluar", "no evaluado", "no evaluada", "no calificado"),
    ),
    "Italian": GradeWords(
        right=(
            *("vero", "vera", "sì", "giusto", "giusta", "corretto", "corretta", "esatto", "esatta"),
            *("bene", "buono", "buona", "superato", "superata", "pollice su", "mi piace"),
        ),
        wrong=(
            *(
                "sbagliato",
                "sbagliata",
                "errato",
                "errata",
                "scorretto",
                "scorretta",
                "non corretto",
            ),
            *("non corretta", "inesatto", "inesatta", "cattivo", "cattiva"),
            *("non superato", "non superata", "pollice giù", "pollice verso", "non mi piace"),
        ),
        ungraded=("non valutato", "non valutata", "da valutare"),
    ),
    "Portuguese": GradeWords(
        right=(
            *("verdadeiro", "verdadeira", "sim", "certo", "certa", "correto", "correta", "bom"),
            *("boa", "aprovado", "aprovada", "polegar para cima", "gostei", "acerto", "sucesso"),
        ),
        wrong=(
            *("não", "nao", "errado", "errada", "incorreto", "incorreta", "ruim", "mau", "má"),
            *("reprovado", "reprovada", "polegar para baixo", "não gostei", "falha"),
        ),
        ungraded=("não avaliado", "não avaliada", "sem avaliação", "por avaliar"),
    ),
    "Chinese": GradeWords(
        right=(
            *("正确", "正確", "对", "對", "是", "真", "好", "通过", "通過", "赞", "讚", "点赞"),
            *("有帮助", "满意", "准确", "成功"),
        ),
        wrong=(
            *("错误", "錯誤", "错", "錯", "否", "假", "不对", "不對", "不正确", "不正確", "坏"),
            *("不好", "不通过", "未通过", "踩", "没有帮助", "不满意", "不准确", "失败"),
        ),
        ungraded=("未评分", "未评估", "未评价", "未标注", "待评", "无"),
    ),
    "Japanese": GradeWords(
        right=(
            *("正しい", "正解", "はい", "真", "良い", "よい", "いい", "合格", "いいね", "高評価"),
            *("成功",),
        ),
        wrong=(
            *("間違い", "間違っている", "誤り", "不正解", "いいえ", "偽", "悪い", "不合格"),
            *("正しくない", "低評価", "失敗"),
        ),
        ungraded=("未評価", "未採点", "評価なし", "なし"),
    ),
}
"""Each language's words. Upper case, skin tones and "thumbs_up" make no difference."""


def _keys(place: int) -> frozenset[str]:
    return frozenset(key_of(word) for words in WORDS.values() for word in words[place])


RIGHT, WRONG, UNGRADED = map(_keys, range(3))
