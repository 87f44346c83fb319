"""The number of a stated confidence, in a completion and among its tokens."""

import pytest

from novarag.errors import UsageError
from novarag.sft.examples import TrainingExample
from novarag.sft.lengths import load_ruler
from novarag.sft.levels import number_span
from novarag.sft.train.scored import number_place
from tests.support.tiny_model import make_tokenizer
from tests.support.tiny_training import write_base


def example(completion, prompt="Which year? Confidence: 12%"):
    return TrainingExample(
        prompt=prompt, completion=completion, question="q", group="g", kind=None, answer="",
        confidence=0.5, correct=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("completion", "number"),
    [
        ("Answer: 1871\nConfidence: 85%", "85"),
        ("Answer: 85\nConfidence: 85%", "85"),
        ("Answer: 1871\nConfidence: 0.85", "0.85"),
        ("Answer: 1871\nConfidence: about 85.5 %", "85.5"),
        ("Confidence: 05%\nAnswer: 1871", "05"),
        ("Step 1: I am 30% sure.\nAnswer: x\nConfidence: 100%", "100"),
        ('{"answer": "1871", "confidence": 0.7}', "0.7"),
        ("<think>\nConfidence: 3%\n</think>\n\nAnswer: x\nConfidence: 70%", "70"),
    ],
)
def test_the_number_is_found_where_the_reader_reads_it(completion, number):
    start, end = number_span(completion)
    assert completion[start:end] == number
    assert start == completion.rindex(number)


@pytest.mark.parametrize(
    "completion",
    [
        "Answer: 1871",
        "Answer: x\nConfidence: high",
        "Answer: x\nConfidence: 7/10",
        "Answer: x\nConfidence: 80-90%",
        "Step 1 Confidence: 80%\nStep 2 Confidence: 70%\nAnswer: x",
        '{"answer": "x", "year": 0.7, "confidence": 0.7}',
    ],
)
def test_what_is_no_plain_number_is_not_guessed(completion):
    assert number_span(completion) is None


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    make_tokenizer(folder)
    return load_ruler(str(folder))


@pytest.mark.parametrize("said", ["85%", "7%", "100%", "05%", "85.5%"])
def test_the_tokens_of_the_number_are_those_that_hold_it(tiny, said):
    place = number_place(tiny, example(f"  Answer: 1871\nConfidence: {said}\n"))
    held = tiny.tokenizer.decode(place.tokens[place.first : place.last])
    rest = tiny.tokenizer.decode(place.tokens[place.last :])
    assert said.rstrip("%") in held
    assert "Confidence" not in held
    assert rest.startswith("%") or held.endswith("%")
    assert list(place.tokens) == tiny.tokenizer(tiny.templated(example(
        f"  Answer: 1871\nConfidence: {said}\n"
    )), add_special_tokens=False)["input_ids"]  # fmt: skip


def test_without_a_number_there_is_no_place(tiny):
    assert number_place(tiny, example("Answer: 1871")) is None


def test_a_template_that_changes_the_completion_leaves_no_place(tmp_path):
    template = "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}"
    ruler = load_ruler(str(write_base(tmp_path / "loud", template=template)))
    assert number_place(ruler, example("Answer: x\nConfidence: 85%")) is None


def test_a_tokenizer_that_cannot_say_where_tokens_stand_is_refused(tiny):
    class Slow:
        chat_template, all_special_tokens, added_tokens_decoder = "x", (), {}
        is_fast = False

        def apply_chat_template(self, messages, **_):
            return "".join(m["content"] for m in messages)

    ruler = type(tiny)(tokenizer=Slow(), name="slow")
    with pytest.raises(UsageError, match="take a model with a fast tokenizer"):
        number_place(ruler, example("Answer: x\nConfidence: 85%"))
