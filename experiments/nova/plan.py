"""What the proof takes: questions by split, rows, samples, trainings. Settled before it was begun.

Sizes follow from the hours: about seven of two cores, of which half are trainings at 200 tokens a
second. The README has the table.
"""

from __future__ import annotations

SEED = 0
SAMPLES = 16  # of each group, as in the paper
OWN_SAMPLES = 4  # of each group for the stage that trains the confidence alone
DRILLS = 900  # rows of a part of the warm-up
PARTS = 2  # of the warm-up, at most
READS = 0.55  # right answers with gold among three passages that end the warm-up
READER = 100  # dev questions that say so

CLEAN = {"warm": 55, "sample": 70, "own": None}
"""Questions of nova-clean's training file, each with its three kinds of groups; None is the rest."""

FOUND = {"warm": 520, "sample": 200, "own": 500}
"""Questions with really retrieved passages of the training split; one group each, but for drills."""

TEST_FOUND = 120
"""Test questions with really retrieved passages."""

GRADED = (100, 300)
"""Graded training questions that a calibration is fitted on."""

ALIGNMENTS = ("brier", "soft", "share", "teacher", "label-only")
"""What is trained on the filtered samples; `brier` is the paper's NOVA."""

SAVED = ["--save-every", "15"]
"""Steps between checkpoints: minutes, as a proof that is killed goes on from there."""

WARMUP = ["--rank", "32", "--learning-rate", "5e-4", "--batch", "4", *SAVED]
"""Not a part of the method: as in the attempt before."""

TRAIN = ["--rank", "16", "--learning-rate", "3e-4", "--batch", "8", "--warmup", "0.1", *SAVED]
"""The paper's rank; a batch and a rate for hundreds of rows instead of two thousand."""

GENTLY = ["--rank", "16", "--learning-rate", "1e-4", "--batch", "8", "--warmup", "0.1", *SAVED]
"""For the last stage, which is to set levels right and not to unlearn what tells them apart."""

ROWS = 320  # of an alignment's training, over all epochs; two epochs at most
LEVEL_ROWS, SCORE_ROWS = 480, 200  # of the two trainings of the confidence alone
SHORT = 120  # rows of an ablation
