"""The compact form of `nova`: the paper's judgments and rules, in four lines without steps.

A difference from the paper, which asks for a sentence on every passage: here a letter or two stand
for it, because this model writes about ten tokens a second on two cores. The labels are those of
`nova`, whose reader reads HR, R and I as well, so there is no reader of its own.
"""

from __future__ import annotations

from novarag.strategies import Strategy, Template

NAME = "experiments.nova_qwen.compact:COMPACT"
"""How the command line and a run name it."""

TEXT = """\
Answer a question with the help of retrieved passages. The passages may be incomplete, off topic or wrong.

Judge every passage with one of three classes:
- HR (highly relevant): it states an answer to the question, whether or not that answer is correct.
- R (relevant): it shares the topic of the question but does not state an answer to it.
- I (irrelevant): it has nothing to do with the question.

Then judge all passages together with one of three words:
- Conflicting: two or more passages are HR and their answers contradict each other.
- Consistent: one or more passages are HR and their answers do not contradict each other.
- Insufficient: no passage is HR.

Rules: if the passages are Consistent, answer from the HR passages with the confidence they deserve, and ignore the others. If they are Conflicting or Insufficient, answer from your own knowledge, and let your confidence be that of your own knowledge.

Question: {question}

Retrieved passages ({k}):
{passages}

Reply with these four lines and nothing else:
Passage Classifications: [HR, R or I for each of the {k} passages in order, separated by commas]
Group Judgment: [Conflicting, Consistent or Insufficient]
Answer: [your answer: {form}]
Confidence: [your chance of being correct, from 0% to 100%]
"""

COMPACT = Strategy(name="nova-compact", template=Template(TEXT))
