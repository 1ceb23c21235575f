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
FACTS = {"facts": ["b"]}


@pytest.mark.parametrize(
    "text",
    [
        '{"facts": ["b"]}',
        '\ufeff {"facts": ["b"]}\n',
        '{"facts": ["b",],}',
        '[{"facts": ["b"]}]',
        json.dumps('{"facts": ["b"]}'),
        '{"answer": {"facts": ["b"]}}',
        '{"name": "answer", "arguments": "{\\"facts\\": [\\"b\\"]}"}',
        '```json\n{"facts": ["b"]}\n```',
        'Sure {x}: {"facts": ["b"]} Anything else?',
        RULES + ' is a draft. {"facts": ["b"]}',
        f'<think>{RULES}</think>{{"facts": ["b"]}}',
        '<think>{"rules": </think>{"facts": ["b"]}',
        f'{RULES} or so</think>\n{{"facts": ["b"]}}',
        f'[THINK]{RULES}[/THINK]{{"facts": ["b"]}}',
        f"<|channel|>analysis<|message|>{RULES}<|end|><|start|>assistant<|channel|>final<|message|>"
        '{"facts": ["b"]}<|end|>',
    ],
)
def test_the_answer_is_found(text: str) -> None:
    assert object_in(text, NAMES) == FACTS


def test_odd_json_is_read() -> None:
    assert object_in('{"facts": ["a\nb"]}', NAMES) == {"facts": ["a\nb"]}
    assert object_in('{"facts": NaN}', NAMES) == {"facts": None}
    assert object_in('{"facts": ["a <think> b", ",]"],}', NAMES) == {"facts": ["a <think> b", ",]"]}


@pytest.mark.parametrize("text", ["{}", "Nothing to change:\n```json\n{}\n```", RULES + "\n{}"])
def test_an_empty_object_at_the_end_is_an_answer(text: str) -> None:
    assert object_in(text, NAMES) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "empty text"),
        ("I cannot do that.", "without a JSON object"),
        ('{"unexpected": 1}', "fields 'unexpected'"),
        ('Here: {"unexpected": 1}.', "fields 'unexpected'"),
        (f"[{RULES}, {RULES}]", "list of 2"),
        ("5", "'5'"),
        ('{"rules": ["a"', "breaks off"),
        (RULES + ' and now {"rules": ["a", "b', "breaks off"),
        (f"{RULES}</think> done", "thoughts"),
        (f"<think>{RULES}", "without a JSON object"),
        ("{} is empty, so I go on", "fields none"),
    ],
)
def test_what_stands_there_instead_is_said(text: str, found: str) -> None:
    with pytest.raises(AnswerError, match=found):
        object_in(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000,
        '{"' * 100_000,
        '{"a":' * 100_000,
        "[" * 100_000,
        '{"k":[' + "{}," * 60_000,
        '{"k":[' * 900 + "1," * 100_000,
        '\\"' * 100_000 + "}",
        '"\\' * 100_000 + "}",
        "<think>" * 50_000,
        '{"a":"b"{' * 30_000,
        '{"rules":' + "1" * 10_000 + "}",
    ],
    ids=range(11),
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    def refused(text: str) -> None:
        with pytest.raises(AnswerError):
            object_in(text, NAMES)

    assert is_linear(refused, text)


@given(st.text(alphabet='{}[]":,\\ \nab</think>`rules', max_size=60))
def test_any_text_gives_an_object_or_an_answer_error(text: str) -> None:
    with suppress(AnswerError):
        assert isinstance(object_in(text, NAMES), dict)


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.text(max_size=9)), min_size=1))
def test_an_object_in_prose_comes_back_whole(value: dict[str, list[str]]) -> None:
    assert object_in(f"I think: {json.dumps(value)} is right.", NAMES) == value
