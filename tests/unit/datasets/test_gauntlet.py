"""The gauntlet: tables that tools wrote, each against its truth."""

import json

from validation.gauntlet.__main__ import LEAST, run_all
from validation.gauntlet.make import MANIFEST, PLACE, entries, truths


def test_raw_tables_are_measured_by_the_first_command_and_none_is_misread():
    by_tools, by_hand = run_all()
    assert len(by_tools) >= 80
    assert [one for one in [*by_tools, *by_hand] if not one.right] == []
    assert sum(one.command == 1 for one in by_tools) >= LEAST * len(by_tools)
    assert len({one.file for one in by_tools}) == len(by_tools)


def test_every_table_is_kept_with_what_made_it():
    known = json.loads(MANIFEST.read_text("utf-8"))
    assert known["truths"] == truths()
    files = {one["file"]: one for one in known["tables"]}
    assert set(files) == {entry.file for entry in entries()}
    assert set(files) == {path.name for path in PLACE.iterdir()} - {MANIFEST.name}
    for entry in entries():
        one = files[entry.file]
        assert (one["tool"], one["command"]) == (entry.tool, entry.command)
        assert (tuple(one["first"]), tuple(one["second"])) == (entry.first, entry.second)
        assert one["version"] or entry.by_hand
    assert max(path.stat().st_size for path in PLACE.iterdir()) < 50_000
