"""What people and models write where they decline to answer, in eight languages.

`grading` compares them with answers as it compares all texts: without case, accents, articles and
punctuation.
"""

WHOLE_REFUSALS = (
    *("unknown", "n/a", "na", "none", "unanswerable", "not sure", "unsure", "uncertain", "idk"),
    *("unbekannt", "unklar", "nicht beantwortbar", "nicht bekannt", "keine angabe"),
    *("inconnu", "inconnue", "sans réponse", "non précisé", "aucune idée"),
    *("desconocido", "desconocida", "no sé", "no se sabe", "sin respuesta", "ni idea"),
    *("sconosciuto", "sconosciuta", "ignoto", "nessuna risposta", "nessuna idea"),
    *("desconhecido", "desconhecida", "sem resposta", "não se sabe"),
    *("未知", "不详", "不确定", "不清楚", "无", "无答案"),
    *("不明", "不明です", "未詳", "なし", "回答なし"),
)
"""Refusals if they are the whole answer; within one they may say something else."""

REFUSALS_WITHIN = (
    *("do not know", "don't know", "not enough information", "insufficient information"),
    *("not sufficient information", "insufficient evidence", "no information", "no answer"),
    *("not sure", "is unknown", "can't be determined", "can not determine"),
    *("cannot be determined", "can not be determined", "cannot determine"),
    *("unable to determine", "unable to answer", "cannot answer", "cannot be answered"),
    *("not possible to determine", "no idea"),
    # German
    *("weiß ich nicht", "weiß es nicht", "ich weiß nicht", "keine ahnung", "ist nicht bekannt"),
    *("nicht genügend informationen", "nicht genug informationen", "keine informationen"),
    *("keine ausreichenden informationen", "lässt sich nicht beantworten"),
    *("lässt sich nicht bestimmen", "lässt sich nicht sagen", "kann nicht beantwortet werden"),
    *("nicht beantworten", "kann nicht bestimmt werden", "keine antwort", "ist unbekannt"),
    # French
    *("je ne sais pas", "on ne sait pas", "pas assez d'informations", "informations insuffisantes"),
    *("pas d'information", "pas d'informations", "aucune information", "impossible de déterminer"),
    *("impossible de répondre", "impossible de dire", "ne peut pas être déterminé"),
    *("ne peut pas être déterminée", "ne peux pas répondre", "ne peut pas répondre"),
    *("ne permettent pas de répondre", "pas de réponse", "est inconnu", "est inconnue"),
    # Spanish
    *("no lo sé", "no lo sabemos", "no hay suficiente información", "no hay información"),
    *("información insuficiente", "no se puede determinar", "no es posible determinar"),
    *("no puedo responder", "no se puede responder", "no es posible responder", "es desconocido"),
    # Italian
    *("non lo so", "non lo sappiamo", "informazioni insufficienti", "nessuna informazione"),
    *("non ci sono informazioni", "informazioni non sufficienti", "impossibile determinare"),
    *("non è possibile determinare", "non si può determinare", "non posso rispondere"),
    "non è possibile rispondere",
    # Portuguese
    *("não sei", "não sabemos", "informação insuficiente", "informações insuficientes"),
    *("não há informação", "não há informações", "não é possível determinar"),
    *("impossível determinar", "não pode ser determinado", "não posso responder"),
    *("não é possível responder", "não faço ideia"),
    # Chinese
    *("不知道", "不清楚", "无法确定", "无法回答", "无法判断", "信息不足", "没有足够的信息"),
    *("没有足够信息", "没有相关信息", "没有提供相关信息", "没有答案", "不能确定"),
    # Japanese
    *("わかりません", "分かりません", "わからない", "分からない", "知りません", "情報が不足"),
    *("情報が不十分", "十分な情報がありません", "情報がありません", "判断できません"),
    *("特定できません", "答えられません", "回答できません", "お答えできません"),
)
"""Refusals wherever they stand in an answer, as whole words."""
