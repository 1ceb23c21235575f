"""acc.text.quoting: the whole sentence around a quote, as the user wrote it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from timing import is_linear

from acc.text.normal import normalised
from acc.text.quoting import NotFound, Quotable, same_words
from acc.text.sentences import sentences

TEXT = "Hi there. Never deploy on  Friday\nwithout Ann’s OK! It is “fragile”. Bob agrees, e.g. on Monday."
LIST = "Never do any of these without Ann:\n- restart db\n- drop a table\n\nReply in German."
WORDS = st.sampled_from(
    ["never", "Deploy", "e.g.", "Ann’s", "“now”", "10.5", "v1.2", "stop.",
     "ok!", "東京。", "é", "ﬁne", "…", "don't", "z. B."]
)  # fmt: skip
PROSE = st.lists(WORDS, min_size=1, max_size=25).map(" ".join)


def find_quote(quote: str, text: str, *, cut: tuple[bool, bool] = (False, False)) -> str | NotFound:
    return Quotable(text, *cut).find(quote)


@pytest.mark.parametrize(
    ("quote", "sentence"),
    [
        ("never deploy on friday", "Never deploy on Friday without Ann’s OK!"),
        ("Never deploy on Friday without Ann's OK.", "Never deploy on Friday without Ann’s OK!"),
        ("…without Ann's OK", "Never deploy on Friday without Ann’s OK!"),
        ('"It is "fragile""', "It is “fragile”."),
        ("Never deploy ... Ann's OK", None),  # what is left out might be a condition
        ("never […] ok", None),
        ("Ann's OK! It is fragile", None),
        ("Ann's OK! It is 'fragile'. Bob",
         "Never deploy on Friday without Ann’s OK! It is “fragile”. Bob agrees, e.g. on Monday."),
        ("there. Never deploy on Friday without Ann’s OK! It is “fragile”. Bob", None),
        ("eploy on", None),
        ("", None),
        ("...", None),
        ("“!”", None),
    ],
)  # fmt: skip
def test_finds_the_sentence(quote: str, sentence: str | None) -> None:
    expected = sentence if sentence else NotFound("absent")
    assert find_quote(quote, TEXT) == expected


@pytest.mark.parametrize(
    "quote", ["restart db", "- restart db", "Never do any of these without Ann: restart db.",
              "without Ann:\n- restart db"]
)  # fmt: skip
def test_a_point_is_found_with_its_heading(quote: str) -> None:
    found = find_quote(quote, LIST)
    assert found == "Never do any of these without Ann: restart db"


def test_a_later_point_is_found_by_heading_and_point() -> None:
    wanted = "Never do any of these without Ann: drop a table"
    assert find_quote("Never do any of these without Ann: drop a table", LIST) == wanted
    assert find_quote("Never do any of these without Annabel", LIST) == NotFound("absent")
    both = find_quote("without Ann: restart db, drop a table", LIST.replace("db", "db,"))
    assert both == "Never do any of these without Ann: restart db, drop a table"
    assert find_quote("do any of these", LIST) == "Never do any of these without Ann:"


def test_two_different_sentences_are_shown() -> None:
    text = "Never deploy. I mean it. Never deploy on Friday."
    both = ("Never deploy.", "Never deploy on Friday.")
    assert find_quote("never deploy", text) == NotFound("ambiguous", both)
    assert find_quote("never deploy on", text) == both[1]
    # The shorter one cannot be quoted at greater length, but in full.
    assert find_quote("Never deploy.", text) == both[0]
    assert find_quote("stop", "Nonstop is fine. Please stop.") == "Please stop."


def test_the_same_sentence_twice_is_one() -> None:
    assert find_quote("ask", "Ask  me first. ok\n\nASK me first!") == "Ask me first."


def test_scripts_without_spaces_have_no_word_ends() -> None:
    text = "金曜日にはデプロイしないでください。必ずアンに聞いてください。"
    assert find_quote("デプロイしない", text) == "金曜日にはデプロイしないでください。"
    assert find_quote("ลบไฟล์", "ห้ามลบไฟล์เด็ดขาด") == "ห้ามลบไฟล์เด็ดขาด"


def test_a_long_sentence_is_kept_around_the_quote() -> None:
    text = (
        "Well "
        + "and so " * 150
        + "never restart (the server) today "
        + "and on " * 75
        + "at last."
    )
    assert find_quote("restart (the server", text) == "[...] restart (the server) [...]"
    assert find_quote("Well and so and", text) == "Well and so and [...]"
    assert find_quote(text, text) == text
    other = text.replace("Well", "Oh")
    both = f"{text}\n\n{other}"
    assert isinstance(found := find_quote("restart (the server", both), NotFound)
    assert found.reason == "ambiguous"
    three = (
        "Never push. " * 2
        + "Never deploy "
        + "on and " * 50
        + "on. Never "
        + "stop and " * 30
        + "go."
    )
    found = find_quote("deploy " + "on and " * 50 + "on. never", three)
    assert found == three.removeprefix("Never push. " * 2)


def test_a_sentence_at_the_edge_of_a_window_is_not_whole() -> None:
    window = "or Ann says so. Never push. Ask me about"
    assert find_quote("Ann says", window, cut=(True, True)) == NotFound("cut_edge")
    assert find_quote("ask me", window, cut=(True, True)) == NotFound("cut_edge")
    assert find_quote("never push", window, cut=(True, True)) == "Never push."
    assert find_quote("Ann says", window, cut=(False, True)) == "or Ann says so."
    assert find_quote("restart db", LIST, cut=(True, False)) == NotFound("cut_edge")


def test_same_words() -> None:
    assert same_words("Don’t  stop!", "don't stop")
    assert same_words("止めて。", "止めて")
    assert not same_words("Don't stop", "Do stop")


@given(PROSE)
def test_what_is_found_stands_in_the_message(text: str) -> None:
    folded = " ".join(text.split())
    for each in sentences(text):
        found = find_quote(each.text, text)
        if isinstance(found, str):
            assert found in folded
        else:
            assert found.reason == "ambiguous"
            assert all(candidate in folded for candidate in found.candidates)


@given(PROSE, st.data())
def test_words_cut_from_a_sentence_are_found_in_it(text: str, data: st.DataObject) -> None:
    found_in = sentences(text)
    assume(found_in)
    sentence = data.draw(st.sampled_from(found_in))
    words = sentence.text.split()
    start = data.draw(st.integers(0, len(words) - 1))
    quote = " ".join(words[start : data.draw(st.integers(start + 1, len(words)))])
    assume(any(map(str.isalnum, quote)))
    found = find_quote(quote, text)
    kept = [found] if isinstance(found, str) else list(found.candidates)
    assert kept
    bare = normalised(quote).strip("'.! 。")
    assert all(bare in normalised(each) for each in kept)


@given(st.text(max_size=30), st.text(max_size=120))
def test_no_text_breaks_it(quote: str, text: str) -> None:
    assert isinstance(find_quote(quote, text, cut=(True, False)), str | NotFound)


@pytest.mark.parametrize(
    ("unit", "quote"),
    [
        ("never stop ", "stop never"), ("a", "a" * 500 + "b"), ("aa ", "a"),
        ("No. ", "no ... no ... yes"), ("x:\n- y\n", "x: z"),
        ("A b. ", "a ... b"), ("ab ", "ab " * 300 + "a"), ("東", "東" * 99), ("- a b\n", "b a"), ("a...", "a...b"),
    ],
)  # fmt: skip
def test_takes_time_in_proportion_to_the_length(unit: str, quote: str) -> None:
    assert is_linear(lambda text: find_quote(quote, text), unit * (48_000 // len(unit)))


@pytest.mark.parametrize(
    "quote", ["with 'q_'", "always start names with 'q_'.", "end with '_x'", "with “q_”"]
)
def test_an_underscore_at_the_end_of_a_quote_is_part_of_its_word(quote: str) -> None:
    said = "Hello. Always start names with 'q_'. And let functions end with '_x'! Ok?"
    assert isinstance(find_quote(quote, said), str)


def test_sentences_that_stand_without_a_space_are_joined_without_one() -> None:
    found = find_quote("Remove Mail.Read from it", "Ok. Remove Mail.Read from it. Thanks.")
    assert isinstance(found, str)
    assert "Mail.Read" in found
