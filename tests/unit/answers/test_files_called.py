"""How many files one has to read to follow a table to a calibration, or a reply to a decision."""

from tests.support.files_called import files_called, of_calibrating, of_scoring

MOST_OF_CALIBRATING = 34
MOST_OF_SCORING = 16
"""What was counted when these were written; they may fall, and are to be 25 and 8."""


def test_a_table_goes_through_few_files_to_a_calibration(tmp_path):
    found = of_calibrating(tmp_path)
    assert "answers/opening/answers.py" in found
    assert len(found) <= MOST_OF_CALIBRATING, found


def test_a_reply_goes_through_few_files_to_a_decision():
    found = of_scoring()
    assert "scoring/scorer.py" in found
    assert len(found) <= MOST_OF_SCORING, found


def test_only_what_is_called_is_counted():
    from novarag.seeding import seed_for

    assert files_called(lambda: seed_for(1, "a")) == ["seeding.py"]
    assert files_called(lambda: None) == []
