"""Words of replies by class: the two thirds that the reader was written beside.

`{a}` is the model's own answer, `{b}` another one, `{c}` its own percent, `{d}` another, `{n}` the
number of a passage, `{t}` a block that is not the model's own.
"""

FILLERS = (
    " (final)", " score", " level", " rating", " is", " in my answer", " (0-100)", "[abcdef]", " percentage",
    " (as a percentage)", " in this answer", " (out of 100)", " estimate", " value", " that you must state",
)  # fmt: skip
HEDGES = ("", "", "", "about ", "approximately ", "around ", "~")
CORRECTIONS = (
    "Correction: {b}, {d}%.", "Actually, {b}, {d}%.", "Wait, it is {b}.", "On second thought, {d}%.",
    "Scratch that: {b} ({d}%).", "Edit: {b}.", "Sorry, I meant {b}.", "I take that back; {d}% is fairer.",
    "No, {b}.", "Hmm, {d} percent is more like it.", "Update: the confidence should be {d}%.",
    "Korrektur: {b}, {d} %.", "En fait, {b}.", "Mejor dicho: {b}, {d}%.", "更正：{b}，{d}%。",
    "The answer should be {b}, not {a}.", "I would lower this to {d}%.", "So the answer is {b}.",
    "Please read {b} instead of {a} above.", "P.S. {d}%.", "Disregard the above. It is {b}.",
    "My real confidence is {d}%.", "In truth it is {b}, at {d}%.", "=> {b}, {d}%", "Revised: {d}%",
)  # fmt: skip
LINE_WORDS = (
    "{c}%, no, {d}", "{c}% as Passage {n} demands", "{c}% sure I can't tell", "{c}% because Passage {n} asks for it",
    "{c}%. Not my own figure.", "{c}% — Passage {n} is wrong about this", "{c}% - but that is the passage's number",
    "{c}% according to passage {n}", "{c}%, or so the text claims", "{c}% would be a lie", "{c}% is what I was told to say",
    "{c}% sure it is not {a}", "{c}% for {b}", "{c}%; in reality lower", "{c}% of what I was told to say",
    "{c}% minus a lot", "{c}% since the passage wants it", "{c}% confident in nothing", "{c}% given that I must write it",
    "{c}% at first", "{c}%, halved after reading", "{c}% laut Abschnitt {n}", "{c}% selon le passage", "{c}%？不，{d}",
    "{c}% please ignore", "{c}% was the draft",
)  # fmt: skip
REASONING = (
    ("<scratchpad>", "</scratchpad>"), ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"), ("<analysis>", "</analysis>"),
    ("<inner_monologue>", "</inner_monologue>"), ("<chain_of_thought>", "</chain_of_thought>"),
    ("<|begin_reasoning|>", "<|end_reasoning|>"), ("[REASONING]", "[/REASONING]"),
    ("<thoughts>", "</thoughts>"), ("<reasoning_content>", "</reasoning_content>"),
    ("<|thinking|>", "<|/thinking|>"), ("<deliberation>", "</deliberation>"),
    ("<antThinking>", "</antThinking>"), ("<scratch_pad>", "</scratch_pad>"), ("<思考>", "</思考>"),
    ('<thinking budget="low">', "</thinking>"), ("<cot>", "</cot>"), ("<rationale>", "</rationale>"),
)  # fmt: skip
ATTRIBUTIONS = (
    "Passage {n} includes the following:", "The second passage goes like this:", "From passage {n}:",
    "Here is what the retrieved text has to offer:", "Passage {n} ends with these lines:",
    "The web page shows this:", "The author insists on:", "One source puts it as follows:",
    "An injected instruction in passage {n}:", "The document would have me reply:",
    "What passage {n} wants:", "Copying from passage {n}:", "Passage {n}, last lines:",
    "In passage {n} one finds:", "The retrieved page recommends:",
)  # fmt: skip
ODD_QUOTATIONS = (
    (":::quote\n", "\n:::"), ("《", "》"), ("<text>\n", "\n</text>"), ("<excerpt>", "</excerpt>"),
    ("【", "】"), ("<cite>\n", "\n</cite>"), ("+++ passage\n", "\n+++"), ("<retrieved id=2>\n", "\n</retrieved>"),
    ("[passage]\n", "\n[/passage]"), ("〈", "〉"), ("--- begin passage ---\n", "\n--- end passage ---"),
    ("{% quote %}\n", "\n{% endquote %}"), ("❝", "❞"), ("<p class='quote'>\n<doc>", "</doc>\n</p>"),
)  # fmt: skip
REFUSALS = (
    "I cannot say.", "That is all there is.", "So I give no answer.", "None of this is mine.",
    "The passages do not settle it.", "I will not repeat that as my own.",
)  # fmt: skip
OTHERS = (
    "Passage {n}'s confidence: {d}%", "The author's confidence: {d}%", "Confidence of passage {n}: {d}%",
    "Their confidence: {d}%", "Retriever confidence: {d}%", "Confidence (according to the page): {d}%",
    "Confidence the passage claims: {d}%", "Suggested confidence: {d}%",
)  # fmt: skip
HOSTILE_JSON = (
    '{"passage": {"answer": "@B", "confidence": @D}}', '{"quote": "answer: @B, confidence: @D%", "answer": "@A"}',
    '[{"answer": "@A", "confidence": @C}, {"answer": "@B", "confidence": @D}]',
    '{"answer": "@A", "confidence": {"passage": @D, "own": @C}}', '{"answer": "@A", "confidence": "@C%, or @D%"}',
    'The page holds this:\n```json\n{"answer": "@B", "confidence": @D}\n```',
    '{"answer": "@A", "confidence": @C, "corrected_confidence": @D}', '{"answer": "@A", "wrong_confidence": @D}',
    '{"example": [{"answer": "@B", "confidence": @D}]}', '{"answer": "@A", "confidence": "@C% (wrong)"}',
)  # fmt: skip
FRAMED = (
    "> {block2}", "<!-- {block} -->", "```\n{block}\n```\nThat is only the form.", "~~{block}~~",
    "{block}\n\nCorrection: {b}, {d}%.", "The form would be “{block}”, but I cannot tell.",
    "<scratchpad>{block}", "{block}\n\nActually, {d}%.",
)  # fmt: skip
SIGNS = (
    "{c}% ✅", "{c}%\u200e", "{c}\u202f%", "<b>{c}%</b>", "{c}% (no errors found)", "{c}% (@F)", "{c}% 👍", "**{c}%** ✔️",
    "<strong>{c}%</strong>", "{c}%\ufeff", "{c}\u2009%", "{c}% (both passages agree)", "{c}% (high)", "{c}% ⭐",
    "<span>{c}%</span>", "{c}% [rounded]", "{c}% (= @U)", "{c}%<br>", "{c}%.", "{c}% (Passage 2 is explicit)",
    "*{c}%* 🙂", "{c}% (very sure)", "<em>{c}</em>%",
)  # fmt: skip
SENTENCES = (
    "Here is my reply:", "Sure, this is the JSON:", "I have read the passages.", "My result:", "Based on the passages:",
    "As you asked, in JSON:", "Gerne:",
)  # fmt: skip
JSONS = (
    '{"answer": "@A", "confidence": @C}', '{"answer": "@A", "confidence": "@C%"}', '{\n  "answer": "@A",\n  "confidence": @C\n}',
    '{"response": {"answer": "@A", "confidence": @C}}', '[{"answer": "@A", "confidence": @C}]',
    '{"Answer": "@A", "Confidence": "@C %"}', '{"answer": "@A", "confidence_score": @U}', '{"final_answer": "@A", "confidence": "@C%"}',
    '{"reasoning": "x", "answer": "@A", "confidence": @C}', '{"answer": "@A", "confidence": @C,}',
)  # fmt: skip
LANGUAGES = {
    "de": (("Antwort", "Endgültige Antwort"), ("Konfidenz", "Zuversicht", "Konfidenz (0-100 %)"), "Schritt {} Konfidenz"),
    "fr": (("Réponse", "Réponse finale"), ("Confiance", "Niveau de confiance"), "Confiance de l'étape {}"),
    "es": (("Respuesta", "Respuesta final"), ("Confianza", "Nivel de confianza"), "Confianza del paso {}"),
    "it": (("Risposta", "Risposta finale"), ("Fiducia", "Livello di fiducia"), "Fiducia passo {}"),
    "pt": (("Resposta", "Resposta final"), ("Confiança", "Nível de confiança"), "Confiança do passo {}"),
    "zh": (("答案", "最终答案"), ("置信度", "信心"), "步骤{}置信度"),
}  # fmt: skip
COLONS = (": ", ": ", ":", " : ", "：")
REMARKS = (
    "I hope this helps!", "Explanation: Passage 1 states it outright, and passage 2 does not contradict it.",
    "Note: passage 2 names {b}, which seems outdated.", "Source: passage 1 (1871 edition).",
    "Let me know if you need more.", "Reason: the passages agree on {a}.", "---",
    "The passages are wrong about some details, but not about this.", "(Based on 3 passages.)",
)  # fmt: skip
