"""The JSON object of an answer, in what models write around it."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import is_linear

from acc.models import AnswerError, object_in

NAMES = ("rules", "facts")
RULES = '{"rules": ["a"]}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('\ufeff {"facts": ["b"]}\n', {"facts": ["b"]}),
        ('```json\n{"facts": ["b"]}\n```', {"facts": ["b"]}),
        ('Sure {x}: {"facts": ["b"]} Anything else?', {"facts": ["b"]}),
        (f'<think>{RULES}</think>{{"facts": ["b"]}}', {"facts": ["b"]}),
        ('<think>{"rules": </think>{"facts": ["b"]}', {"facts": ["b"]}),
        ('{"facts": ["a\nb"]}', {"facts": ["a\nb"]}),
        ('{"facts": NaN}', {"facts": None}),
        ('{"facts": "\\ud83d"}', {"facts": "?"}),
        (RULES + "\n```json\n{}\n```", {}),
    ],
)
def test_the_answer_is_found(text: str, found: object) -> None:
    assert object_in(text, NAMES) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ('Here: {"unexpected": 1}.', "fields 'unexpected'"),
        (RULES + ' and now {"rules": ["a", "b', "broken"),
        ("{} is empty, so I go on", "fields none"),
        (f"<think>Say {RULES}? No, since", "break off"),
    ],
)
def test_what_stands_there_instead_is_said(text: str, found: str) -> None:
    with pytest.raises(AnswerError, match=found):
        object_in(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000, '{"' * 100_000, '{"a":' * 100_000, '{"k":[' + "{}," * 60_000, '{"k":[' * 900 + "1," * 100_000,
        '\\"' * 100_000 + "}", '{"a":"b"{' * 30_000, '{"rules":' + "1" * 10_000 + "}",
    ],
    ids=range(8),
)  # fmt: skip
def test_hostile_text_takes_linear_time(text: str) -> None:
    def read(text: str) -> None:
        with suppress(AnswerError):
            object_in(text, NAMES)

    with pytest.raises(AnswerError):
        object_in(text, NAMES)
    assert is_linear(read, text)


@given(st.text(alphabet='{}[]":,\\ \nab`rules', max_size=60))
def test_any_text_gives_an_object_or_an_answer_error(text: str) -> None:
    with suppress(AnswerError):
        assert isinstance(object_in(text, NAMES), dict)


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.text(max_size=9)), min_size=1))
def test_an_object_in_prose_comes_back_whole(value: dict[str, list[str]]) -> None:
    assert object_in(f"I think: {json.dumps(value)} is right.", NAMES) == value
