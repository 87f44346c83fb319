"""Calibrate stated confidences, and set thresholds that keep a promise.

What comes in:

- `graded`: graded answers as arrays, with the name of the model and prompt they are of.
- `picking`: which answers to grade next, so that few grades tell much.

From graded answers to a calibration:

- `fitting`: the fit as a whole, and its figures, cross-validated by question.
- `counted`: answers that are alike, counted in cells, which is all that the models look at.
- `models`: from stated confidence and evidence state to the chance of being right.
- `levels`: what a single stated value means beside the line.
- `scores`: Brier score, smooth ECE and AUROC of confidences, before and after.
- `calibration`: the fitted calibration; applying it needs nothing but arithmetic.
- `written`: a calibration as JSON and back, and the digest that a gate knows it by.
- `known`: digests of the questions it was fitted on, so that it is never judged on them.
- `gain`: what one set of confidences gains over another on the same answers.
- `drift`, `reference`: whether new answers still look like those it was fitted on.

From graded answers to a gate:

- `sequence`: the tests behind a gate, threshold by threshold, each an exact binomial test.
- `gating`: which rows are tested, which threshold passes, what a gate would keep at other risks.
- `need`: how many graded questions would do where no threshold passes.
- `gate`: the gate itself, its decision on an answer, its promise in words, its file.
- `deciding`: the thresholds of a gate, each checked on the other half of the questions.
"""
