"""Text that messages quote stays as it is, whatever it holds, on its way to a shell."""

import pickle
import shlex

from hypothesis import given
from hypothesis import strategies as st

from novarag.answers.cells.unsettled import (
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    UnsettledTable,
)
from novarag.calls import CallError, Outcome
from novarag.cli.translate import said
from novarag.errors import (
    DataError,
    ServiceError,
    StorageError,
    UnfinishedError,
    UnknownNameError,
    UsageError,
)
from novarag.prose import Parameter, Prose, join_prose, say
from novarag.runs.finished import DamagedMarker

FLAGS = frozenset({"--out", "--percent", "--right"})
NAMES = (
    "`out`",
    "`percent=True`",
    "`recover('x')`",
    "`ask(...)`",
    "{}",
    "{0}",
    "`{}`",
    "`",
    "--out",
)
hostile = st.lists(st.sampled_from(NAMES) | st.text(max_size=20), max_size=6).map("".join)
typed = hostile.filter(str.isprintable)


@given(hostile)
def test_plain_text_comes_out_as_it_is(text):
    assert said(text, FLAGS) == text
    assert said(UsageError(text).prose, FLAGS) == text
    assert UsageError(text).parameter is None


@given(hostile, hostile)
def test_values_are_never_taken_for_what_a_message_names(before, after):
    message = say("{} is a file; `out` takes a folder: {!r}", before, after)
    assert str(message) == f"{before} is a file; `out` takes a folder: {after!r}"
    assert said(message, FLAGS) == f"{before} is a file; --out takes a folder: {after!r}"
    assert message.parameter == "out"


@given(hostile, hostile)
def test_a_message_within_a_message_keeps_its_parts(quoted, text):
    inner = UsageError.saying("{}: give `out`", quoted)
    outer = UsageError.saying("models.{}: {}", text, inner.prose)
    assert said(outer.prose, FLAGS) == f"models.{text}: {quoted}: give --out"
    data = DataError(text, hint=inner.prose, source=quoted)
    assert said(data.prose, FLAGS).endswith(f"{text} Fix: {quoted}: give --out")
    assert said(join_prose("; ", [text, inner.prose]), FLAGS) == f"{text}; {quoted}: give --out"


@given(typed)
def test_a_shell_reads_the_values_of_calls_and_settings_back(text):
    message = said(say("`recover({})`", text), FLAGS)
    assert shlex.split(message.removeprefix("`").removesuffix("`"))[3:] == [text]
    assert shlex.split(said(say("`out={}`", text), FLAGS)) == ["--out", text]


@given(hostile)
def test_errors_come_out_of_another_process_as_they_went_in(text):
    named = say("{}: give `out`, or `recover({})`", text, text)
    column = UnsettledColumn(
        text, (ColumnValue(text, 1, 2),), text, (SettlingOption("right", (text,), text),)
    )
    for error in (
        UsageError(named), UsageError(named, parameter="percent"), UsageError(text),
        UnknownNameError(text, [text]), DataError(named, hint=named, source=text, row=1),
        ServiceError(named, retryable=True), StorageError(named), UnfinishedError(text, stopped=True),
        CallError(Outcome.REFUSED, text), DamagedMarker(text, text),
        UnsettledTable([column], source=text),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.prose.parts) == (
            type(error), str(error), error.prose.parts,
        )  # fmt: skip
        assert getattr(again, "parameter", None) == getattr(error, "parameter", None)


def test_a_parameter_that_no_flag_stands_for_is_said_as_python_says_it():
    message = Prose("give ", Parameter("out"), " or ", Parameter("margin", 0.1))
    assert said(message, FLAGS) == "give --out or `margin=0.1`"
