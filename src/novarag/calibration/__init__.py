"""Calibrate stated confidences, and set thresholds that keep a promise.

What comes in:

- `graded_answers`: graded answers as arrays, with the name of the model and prompt they are of.
- `pick_rows`: which answers to grade next, so that few grades tell much.

From graded answers to a calibration:

- `fit_calibration`: the fit as a whole, and its figures, cross-validated by question.
- `answer_cells`: answers that are alike, counted in cells, which is all that the models look at.
- `logistic_models`: from stated confidence and evidence state to the chance of being right.
- `level_effects`: what a single stated value means beside the line.
- `signal_scale`: a signal of any unit as normal scores.
- `fuse_signals`: several signals as one chance of being right, from few or many graded answers.
- `signal_fusion`: the fitted fusion; a missing signal never raises its score.
- `fused_rows`: the fused score in the place of a confidence, and what each signal adds.
- `fit_figures`: Brier score, smooth ECE and AUROC of confidences, before and after.
- `calibration`: the fitted calibration; applying it needs nothing but arithmetic.
- `calibration_file`: a calibration as JSON and back, and the digest that a gate knows it by.
- `question_digests`: digests of the questions it was fitted on, so that it is never judged on them.
- `brier_gain`: what one set of confidences gains over another on the same answers.
- `drift`, `reference`: whether new answers still look like those it was fitted on.

From graded answers to a gate:

- `threshold_tests`: the tests behind a gate, threshold by threshold, each an exact binomial test.
- `fit_gate`: which rows are tested, which threshold passes, what a gate would keep at other risks.
- `sample_size`: how many graded questions would do where no threshold passes.
- `gate`: the gate itself, its decision on an answer, its promise in words, its file.
- `checked_thresholds`: the thresholds of a gate, each checked on the other half of the questions.
"""
