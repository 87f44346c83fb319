"""How many files one has to read to follow a table to a calibration, or a reply to a decision."""

from tests.support.files_called import files_called, of_calibrating, of_scoring

MOST_OF_CALIBRATING = 31
MOST_OF_SCORING = 13
"""What was counted when these were written; they may fall, towards 25 and 8.

Of a reply, four files of the reader have 340 to 390 lines each, so that no two can be one. Of a
table, six files read cells, seven open tables, and six are metrics, which `measure` shares.
"""


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
