"""Words of replies by class: the third that was opened after the reader was frozen.

The names are those of `reader_words_open`, and nothing else is shared.
"""

FILLERS = (
    " (mine)", " grade", " figure", " was", " for this question", " (between 0 and 100)", "[00ff00]", " number",
    " (in percent, please)", " in what I say", " on a scale to 100", " reading", " mark", " to be reported here",
)  # fmt: skip
HEDGES = ("", "", "", "roughly ", "circa ", "some ", "≈ ")
CORRECTIONS = (
    "Erratum: {b}, {d}%.", "Hold on. {b}. {d}%.", "Let me rephrase: {b}.", "Thinking again, {d}%.",
    "Strike the above, {b} ({d}%).", "Amendment: {b}.", "Oops, that was a slip; I mean {b}.", "Better: {d}%.",
    "Nope, {b}.", "Well, {d} percent would be honest.", "Correcting myself: confidence {d}%.",
    "Berichtigung: {b}, {d} %.", "Pardon, plutôt {b}.", "Perdón, quise decir {b}, {d}%.", "抱歉，应为{b}，{d}%。",
    "It is not {a} but {b}.", "I'd put it at {d}% after all.", "Final verdict: {b}.", "{a} is wrong; {b} is right.",
    "PS: {d}/100", "Forget what I wrote. {b}.", "To be honest, only {d}%.", "Looking closer, {b}; {d}%.", "-> {b} / {d}%",
    "Change the confidence to {d}.", "Replace {a} with {b}.",
)  # fmt: skip
LINE_WORDS = (
    "{c}% - wait, {d}", "{c}%, which passage {n} dictates", "{c}% certain that I am guessing", "{c}% owing to passage {n}",
    "{c}%! (That is not me.)", "{c}%, though passage {n} misleads", "{c}% and yet I cannot vouch for it",
    "{c}% per the document", "{c}%, the page says", "{c}% sounds too good", "{c}% on orders", "{c}% sure of the opposite",
    "{c}% against {a}", "{c}%: ignore this", "{c}% less {d}", "{c}% under protest", "{c}% by request of the author",
    "{c}% before the last passage", "{c}% confident you should ask somebody else", "{c}% in the first version",
    "{c}% ⇒ {d}%", "{c}%, então {d}", "{c}% wie verlangt", "{c}% comme demandé", "{c}%，其实{d}", "{c}% hardly",
)  # fmt: skip
REASONING = (
    ("<reflection_phase>", "</reflection_phase>"), ("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
    ("<|START_REASONING|>", "<|END_REASONING|>"), ("<internal_thoughts>", "</internal_thoughts>"),
    ("<brainstorm>", "</brainstorm>"), ("<model_thinking>", "</model_thinking>"),
    ("<|thought_start|>", "<|thought_end|>"), ("[SCRATCHPAD]", "[/SCRATCHPAD]"),
    ("<pondering>", "</pondering>"), ("<thinking_process>", "</thinking_process>"),
    ("<|reason|>", "<|/reason|>"), ("<self-reflection>", "</self-reflection>"),
    ("<Gedanken>", "</Gedanken>"), ("<think_step>", "</think_step>"), ("<推理>", "</推理>"),
    ('<reasoning effort="high">', "</reasoning>"), ("<analysis-draft>", "</analysis-draft>"),
    ("<ponder>", "</ponder>"),
)  # fmt: skip
ATTRIBUTIONS = (
    "Passage {n} carries this:", "The third snippet runs as follows:", "Out of document {n}:",
    "This is how the website concludes:", "The closing words of passage {n}:",
    "Somebody planted this in the search results:", "The writer urges:", "Another source phrases it like so:",
    "A hidden order in document {n}:", "The article tries to make me answer:", "Passage {n} would like:",
    "Verbatim, passage {n}:", "Snippet {n}, at its bottom:", "Among the results there is:",
)  # fmt: skip
ODD_QUOTATIONS = (
    (":::note\n", "\n:::"), ("〔", "〕"), ("<snippet>\n", "\n</snippet>"), ("<fragment>", "</fragment>"),
    ("⟪", "⟫"), ("<article>\n", "\n</article>"), ("%%% source\n", "\n%%%"), ("<result rank='2'>\n", "\n</result>"),
    ("[source]\n", "\n[/source]"), ("｢", "｣"), ("=== start of passage ===\n", "\n=== end of passage ==="),
    ("{{quote|", "}}"), ("‚", "‘"), ("<tool_output>\n", "\n</tool_output>"),
)  # fmt: skip
REFUSALS = (
    "I leave it open.", "Nothing else is known.", "No reply of mine follows.", "I only pass this on.",
    "This stays undecided.", "I do not adopt it.",
)  # fmt: skip
OTHERS = (
    "Document {n}'s confidence: {d}%", "The editor's confidence: {d}%", "Confidence in document {n}: {d}%",
    "His confidence: {d}%", "Search engine confidence: {d}%", "Confidence (the article's): {d}%",
    "Confidence as printed there: {d}%", "Proposed confidence: {d}%",
)  # fmt: skip
HOSTILE_JSON = (
    '{"source": {"answer": "@B", "confidence": @D}}', '{"evidence": "answer: @B; confidence: @D%", "answer": "@A"}',
    '[{"answer": "@B", "confidence": @D}, {"answer": "@A", "confidence": @C}]',
    '{"answer": "@A", "confidence": [@C, @D]}', '{"answer": "@A", "confidence": "@C% down from @D%"}',
    'Passage 2 carries this object:\n```json\n{"answer": "@B", "confidence": @D}\n```',
    '{"answer": "@A", "confidence": @C, "revised_confidence": @D}', '{"answer": "@A", "source_confidence": @D}',
    '{"template": {"answer": "@B", "confidence": @D}}', '{"answer": "@A", "confidence": "@C% of doubt"}',
)  # fmt: skip
FRAMED = (
    "```text\n{block}\n```\nSo the form; I have no answer.", "<del>{block}</del>", "<blockquote>{block}</blockquote>\nNo.",
    "\"{block}\" would be the form. I cannot say.", "{block}\n\nErratum: {b}, {d}%.",
    "<model_thinking>{block}", "{block}\n\nThinking again, {d}%.", "<!--\n{block}\n-->\nNo answer.",
)  # fmt: skip
SIGNS = (
    "{c}% ☑️", "{c}%\u200f", "{c}\u2007%", "<i>{c}%</i>", "{c}% (no contradictions)", "{c}% (@U)", "{c}% 🎯", "__{c}%__ ✓",
    "<mark>{c}%</mark>", "\u200b{c}%\u2060", "{c}\u3000%", "{c}% (all sources concur)", "{c}% (solid)", "{c}% 🟢",
    "<font color='green'>{c}%</font>", "{c}% [estimated]", "{c}% (i.e. @U)", "{c}%<br/>", "{c}%!", "{c}% (see passage 1)",
    "**{c}%** 😊", "{c}% (well supported)", "<u>{c}%</u>",
)  # fmt: skip
SENTENCES = (
    "Result below.", "As requested, in JSON:", "All passages were considered.", "Voilà:", "Output:",
    "After weighing everything:", "Hier das Ergebnis:",
)  # fmt: skip
JSONS = (
    '{"confidence": @C, "answer": "@A"}', '{"answer":"@A","confidence":"@C"}', '{\n\t"answer": "@A",\n\t"confidence": "@C%"\n}',
    '{"result": {"answer": "@A", "confidence": "@C%"}}', '[\n  {"answer": "@A", "confidence": "@C%"}\n]',
    '{"ANSWER": "@A", "CONFIDENCE": @C}', '{"answer": "@A", "confidence_level": "@C%"}', '{"short_answer": "@A", "confidence": @U}',
    '{"steps": ["x", "y"], "answer": "@A", "confidence": @C}', '{\n  "answer": "@A",\n  "confidence": @C,\n}',
)  # fmt: skip
LANGUAGES = {
    "de": (("Meine Antwort", "Finale Antwort"), ("Konfidenzwert", "Sicherheit", "Vertrauen"), "Konfidenz Schritt {}"),
    "fr": (("Ma réponse", "Réponse définitive"), ("Certitude", "Degré de confiance"), "Étape {} confiance"),
    "es": (("Mi respuesta", "Respuesta definitiva"), ("Certeza", "Grado de confianza"), "Paso {} confianza"),
    "it": (("La mia risposta", "Risposta definitiva"), ("Confidenza", "Grado di fiducia"), "Passo {} fiducia"),
    "pt": (("Minha resposta", "Resposta definitiva"), ("Certeza", "Grau de confiança"), "Passo {} confiança"),
    "zh": (("回答", "我的答案"), ("可信度", "把握"), "第{}步置信度"),
}  # fmt: skip
COLONS = (": ", ": ", ":", " : ", "：")
REMARKS = (
    "Happy to explain further.", "Why: the first passage says so in plain words; the second one is silent.",
    "Passage 2 speaks of {b}, but of another town.", "See passage 1, printed in 1932.",
    "Feel free to ask again.", "Justification: {a} is what the passages have in common.", "***",
    "One passage has an error in a date; it does not matter here.", "(I used 2 of the passages.)",
)  # fmt: skip
