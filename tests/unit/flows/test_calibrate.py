"""Calibrations from tables and back: fitted, kept, applied, and never judged on their own rows."""

from __future__ import annotations

import polars as pl
import pytest

import novarag
from novarag import (
    STRATEGIES,
    Columns,
    DataError,
    ScriptedLLM,
    UsageError,
    answer,
    apply_calibration,
    ask,
    group_passages,
    load_calibration,
    measure,
    save_calibration,
    write_example,
)
from tests.support.graded_answers import draw_graded


def scripted(name: str) -> ScriptedLLM:
    """Return a model by a name, which always says the same."""
    kind = type("Named", (ScriptedLLM,), {"model": name, "__slots__": ()})
    judged = "Passage Classifications: highly relevant\nGroup Judgment: consistent\n"
    return kind({"": f"{judged}Answer: 1871\nConfidence: 90%"})


def table(n: int = 120, seed: int = 0, **more: object) -> pl.DataFrame:
    graded = draw_graded(n, seed=seed, signal=True)
    frame = pl.DataFrame(
        {
            "question": graded.question_ids,
            "confidence": graded.confidence,
            "correct": graded.correct,
            "evidence": [graded.state_name(s) for s in graded.state],
            "likelihood": graded.signal,
        }
    )
    return frame.with_columns(**{name: pl.lit(value) for name, value in more.items()})


def test_a_table_is_fitted_kept_and_read_back(tmp_path):
    made = novarag.calibrate(table(), out=tmp_path / "c.json", page=tmp_path / "c.html")
    assert load_calibration(tmp_path / "c.json") == made
    assert made.source.model == "unknown"
    page = (tmp_path / "c.html").read_text()
    assert page.count("<svg") == 3
    assert "<script" not in page
    save_calibration(made, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "c.json").read_bytes()


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "c.json"
    novarag.calibrate(table(), out=path)
    raw = path.read_bytes()
    for at in range(0, len(raw), len(raw) // 40):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises(DataError, match=r"c\.json"):
            load_calibration(path)
    with pytest.raises(UsageError, match="cannot read"):
        load_calibration(tmp_path / "none.json")


def test_it_is_applied_to_answers_nobody_graded(tmp_path):
    made = novarag.calibrate(table())
    log = (
        table(50, seed=1)
        .drop("correct")
        .with_columns(
            confidence=pl.when(pl.col("question") == "q1-0").then(None).otherwise("confidence")
        )
    )
    for out in ("out.csv", "out.jsonl", "out.parquet"):
        found = apply_calibration(log, made, out=tmp_path / out)
        assert (tmp_path / out).stat().st_size > 1000
    assert found["calibrated"].null_count() == 1
    read = found.drop_nulls("calibrated")
    inside = read["calibrated"].is_between(read["calibrated_low"], read["calibrated_high"])
    assert inside.all()
    row = read.row(3, named=True)
    assert row["calibrated"] == made.one(row["confidence"], row["evidence"]).probability
    with pytest.raises(UsageError, match="name the file `out`"):
        apply_calibration(log, made, out=tmp_path / "out.xlsx")


def test_lists_become_json_in_csv(tmp_path):
    log = table(40).with_columns(judgments=pl.lit(["a", "b"]))
    apply_calibration(log, novarag.calibrate(table()), out=tmp_path / "o.csv")
    assert pl.read_csv(tmp_path / "o.csv")["judgments"][0] == '["a", "b"]'


def test_its_signal_is_taken_from_the_column_of_that_name():
    made = novarag.calibrate(table(), columns=Columns(signal="likelihood"))
    with_it = apply_calibration(table(60, seed=2), made)
    without = apply_calibration(table(60, seed=2).drop("likelihood"), made)
    assert not with_it["calibrated"].equals(without["calibrated"])
    with pytest.raises(UsageError, match="no column 'score'"):
        novarag.calibrate(table(), columns=Columns(signal="score"))


def test_answers_of_another_model_or_prompt_are_refused_unless_told():
    made = novarag.calibrate(table(model="llama", strategy="nova"))
    assert (made.source.model, made.source.prompt) == ("llama", STRATEGIES["nova"].template.hash)
    for other in ({"model": "qwen"}, {"strategy": "vanilla"}, {"strategy": "my-own"}):
        log = table(40, seed=1, **other)
        with pytest.raises(UsageError, match="`other_source=True`"):
            apply_calibration(log, made)
        apply_calibration(log, made, other_source=True)
    apply_calibration(table(40, seed=1), made)
    with pytest.raises(UsageError, match="fitted on the model 'llama'"):
        apply_calibration(table(40, seed=1), made, source="qwen")
    both = pl.concat([table(40, model="a"), table(40, seed=1, model="b")])
    with pytest.raises(UsageError, match="2 values of 'model'"):
        novarag.calibrate(both)


def test_no_public_function_judges_it_on_its_own_rows(tmp_path):
    """Whatever form the rows come in again, and however few of them."""
    rows = table()
    made = novarag.calibrate(rows, out=tmp_path / "c.json")
    rows.write_csv(tmp_path / "again.csv")
    renamed = rows.rename({"question": "q"})
    for again, columns in (
        (rows, None),
        (rows.sample(fraction=1, shuffle=True, seed=1), None),
        (rows.head(1), None),
        (pl.concat([table(100, seed=9), rows.tail(1)]), None),
        (tmp_path / "again.csv", None),
        (renamed, Columns(question="q")),
    ):
        for calibration in (made, tmp_path / "c.json"):
            with pytest.raises(UsageError, match="judged on what it has seen"):
                measure(again, calibration=calibration, columns=columns, replicates=100)


def test_rows_without_a_question_are_known_again(tmp_path):
    table().drop("question").write_csv(tmp_path / "rows.csv")
    made = novarag.calibrate(tmp_path / "rows.csv")
    with pytest.raises(UsageError, match="judged on what it has seen"):
        measure(tmp_path / "rows.csv", calibration=made, replicates=100)


def test_before_and_after_stand_side_by_side(tmp_path):
    found = measure(table(400), calibrate=True, replicates=100, out=tmp_path)
    before, after = (g.figures["brier"].value for g in found.groups)
    assert [g.name for g in found.groups] == ["as stated", "calibrated"]
    assert after < before == found.overall.figures["brier"].value
    assert any("cross-fitted" in note for note in found.notes)
    made = novarag.calibrate(table(200, seed=5))
    given = measure(table(400), calibration=made, replicates=100)
    assert given.groups[1].figures["brier"].value < before
    assert any("200 other questions" in note for note in given.notes)
    with pytest.raises(UsageError, match="a column 'confidences' of its own"):
        measure(table(40, confidences=1), calibrate=True)
    with pytest.raises(UsageError, match="too few to calibrate on"):
        measure(table(20), calibrate=True)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("weight", 0.0, "not above zero"), ("weight", "many", "'many' is not a number")],
)
def test_weights_are_numbers_above_zero(column, value, message):
    with pytest.raises(DataError, match=message):
        novarag.calibrate(table(**{column: value}))


def test_what_is_no_calibration_is_a_type_error():
    with pytest.raises(TypeError, match="must be a Calibration or its file, not int"):
        apply_calibration(table(), 3)


def test_a_run_is_calibrated_as_it_ends(tmp_path):
    write_example(tmp_path / "pool.jsonl")
    group_passages(tmp_path / "pool.jsonl", tmp_path / "groups.jsonl", audit=False)
    run = ask(tmp_path / "groups.jsonl", "nova", "simulated:base", out=tmp_path / "run")
    made = novarag.calibrate(run, columns=Columns(signal="likelihood"))
    assert set(made.states) >= {"consistent", "conflicting"}
    again = ask(
        tmp_path / "groups.jsonl", "nova", "simulated:base", out=tmp_path / "run", calibration=made
    )
    table = pl.read_parquet(tmp_path / "run" / "calibrated.parquet")
    assert table.height == len(again)
    for wrong, model in (("vanilla", "simulated:base"), ("nova", "simulated:tuned")):
        with pytest.raises(UsageError, match="the calibration was fitted on"):
            ask(tmp_path / "groups.jsonl", wrong, model, out=tmp_path / "r2", calibration=made)
    assert not (tmp_path / "r2").exists()
    found = answer("When?", ["In 1871."], scripted(made.source.model), calibration=made)
    assert found.calibrated
    with pytest.raises(UsageError, match="another prompt"):
        answer("When?", ["In 1871."], scripted(made.source.model), strategy="cot", calibration=made)
    with pytest.raises(UsageError, match="another model"):
        answer("When?", ["In 1871."], scripted("llama"), calibration=made)
    with pytest.raises(UsageError, match="wants a folder"):
        ask(tmp_path / "groups.jsonl", "nova", "simulated:base", calibration=made)
