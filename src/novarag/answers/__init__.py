"""Tables of answers: `cells` says what is in them, `opening` makes an `Answers` of anything.

`cells` is pure, and of the standard library alone; `opening` reads files, frames, trials and runs.
"""
