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

Judge every passage: HR if it states an answer to the question, right or wrong; R if it is on the topic but states no answer; I if it is about something else.
Then judge all of them: Conflicting if HR passages contradict each other; Consistent if there are HR passages that do not; Insufficient if no passage is HR.
If they are Consistent, answer from the HR passages and ignore the others. If they are Conflicting or Insufficient, answer from your own knowledge, and be no surer than that allows.

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
