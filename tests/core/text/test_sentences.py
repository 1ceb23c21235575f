"""acc.text.sentences: the sentences of a message as a reader divides it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import is_linear

from acc.text.sentences import READ_TWICE, sentences
from tests.core.text.labelled import LABELLED

LINES = st.lists(
    st.sampled_from(
        ["Never push.", "ok then", "- a point", "  * deeper:", "1. First. Second",
         "Rules:", "", "---", "🎉", "…", "東京。",
         "\ud800", "x" * 80, "¿Qué?", "\u0301", "a) b", "“Open", "e.g. this"]
    ) | st.text(max_size=12)
)  # fmt: skip


def texts(text: str) -> list[str]:
    return [" ".join(each.text.split()) for each in sentences(text)]


def points(text: str) -> list[tuple[str, str]]:
    return [(each.heading, " ".join(each.text.split())) for each in sentences(text)]


def test_divides_the_labelled_texts_as_well_as_the_docstring_says() -> None:
    right = false = missed = 0
    for marked in (each for language in LABELLED.values() for each in language):
        parts = marked.split("‖")
        wanted = {len("".join(parts[: n + 1]).rstrip()) for n in range(len(parts))}
        got = {each.end for each in sentences("".join(parts))}
        right += wanted == got
        false, missed = false + len(got - wanted), missed + len(wanted - got)
    assert right >= 102
    assert false <= 12
    assert missed <= 14


def test_a_mail_wrapped_at_72_columns_keeps_its_sentences() -> None:
    mail = (
        "Hi Ann,\n\nI want you to never deploy anything on a Friday because the client has\n"
        "complained about it, and because nobody in the team would be around on\nSaturday. "
        "Please ask me first. Do not touch the server that is called\nDatabase Server One.\n\nBob"
    )
    assert texts(mail) == [
        "Hi Ann,",
        "I want you to never deploy anything on a Friday because the client has complained about it, "
        "and because nobody in the team would be around on Saturday.",
        "Please ask me first.",
        "Do not touch the server that is called Database Server One.",
        "Bob",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never deploy\non Friday.", ["Never deploy on Friday."]),
        ("No tables\nReply in German\nok", ["No tables", "Reply in German ok"]),
        ("Rule:\nNever push.", ["Rule: Never push."]),
        ("Never push\r\n\r\nask me", ["Never push", "ask me"]),
        (
            "金曜日にはデプロイしない\n必ずアンに聞く",
            ["金曜日にはデプロイしない", "必ずアンに聞く"],
        ),
        ("# Rules\n\nNever push.\n***\nok", ["Rules", "Never push.", "ok"]),
        ("Great! 🎉", ["Great! 🎉"]),
        ("🎉 ...", []),
        ("a\ud800b. Never c.", ["a\ud800b.", "Never c."]),
    ],
)
def test_line_breaks(text: str, found: list[str]) -> None:
    assert texts(text) == found


def test_a_point_has_the_heading_of_its_list() -> None:
    never = "Never do any of these without Ann:"
    text = f"Hi. {never}\n- restart db\n- drop a table. It is fragile.\n  even at\n  night\nThanks!"
    assert points(text) == [
        ("", "Hi."),
        ("", never),
        (never, "restart db"),
        (never, "drop a table."),
        (never, "It is fragile."),
        (never, "even at night"),
        ("", "Thanks!"),
    ]


@pytest.mark.parametrize("mark", ["- ", "* ", "• ", "– ", "1. ", "2) ", "a) ", "(b) ", "✅ "])
def test_marks_of_points(mark: str) -> None:
    text = f"Never:\n\n{mark}push\n\n{mark}pull\n\nOther words."
    assert points(text) == [
        ("", "Never:"),
        ("Never:", "push"),
        ("Never:", "pull"),
        ("", "Other words."),
    ]


def test_a_list_in_a_list_has_both_headings() -> None:
    assert points("Never:\n- ask\n- in prod:\n  * push\n- pull") == [
        ("", "Never:"),
        ("Never:", "ask"),
        ("Never:", "in prod:"),
        ("Never: in prod:", "push"),
        ("Never:", "pull"),
    ]


@given(LINES)
def test_slices_are_exact_in_order_and_leave_no_word_out(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = sentences(text)
    at = 0
    for each in found:
        assert at <= each.start < each.end <= len(text)
        assert each.text == text[each.start : each.end] == each.text.strip()
        # What lies between holds no words but the marks of points, a number or letter each.
        assert sum(map(str.isalnum, text[at : each.start])) <= 3
        at = each.end
    assert not any(map(str.isalnum, text[at:]))


@pytest.mark.parametrize(
    "unit",
    ["Never do that. ", "“a. ", "“A. ", '"a. ', "(A. ", "- a\n", "a:\n- b\n", "\n", "...",
     "🎉. ", "A\n", "a ", "。東", "1. "],
)  # fmt: skip
def test_takes_time_in_proportion_to_the_length(unit: str) -> None:
    assert is_linear(sentences, unit * (48_000 // len(unit)))


def test_a_long_text_in_a_language_that_is_slow_to_read_takes_no_longer_than_its_head() -> None:
    head = "x a.b@a.b@" * (READ_TWICE // 10)

    def seconds(text: str) -> float:
        begun = time.process_time()
        sentences(text)
        return time.process_time() - begun

    sentences(head)  # loads what is slow
    assert any(seconds(head * 20 + "x" * n) < 8 * max(seconds(head), 0.01) for n in range(3))
