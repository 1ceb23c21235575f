"""Law 6: a rule is what was said, with words left out at the most, and never looser than that.

The compressor of these tests knows the law: it quotes real words, and cuts and bends them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Conversation, heads, reasons, rule, user

from acc.text.quoting import find_passage, worded

Sentence = tuple[str, tuple[str, ...]]
"""A sentence, and the words in it without which it would allow or ask for more."""


class Language(NamedTuple):
    """Parts that make sentences of one language; ``{}`` is what is to be done."""

    acts: tuple[str, ...]
    frames: tuple[Sentence, ...]
    joint: str
    stop: str


LANGUAGES = {
    "English": Language(
        ("delete the backups", "send 100 EUR to Bob", "push to main", "answer the auditors"),
        (
            ("Never {}", ("never",)),
            ("Please dont {}", ("dont",)),
            ("{} is what you must not do", ("not",)),
            ("Do not ever {}", ("not",)),
            ("If the build is red, {}", ("if",)),
            ("{} only after Ann signs", ("only", "after")),
            ("{}, but not on Fridays", ("but", "not")),
            ("{}, unless Ann objects", ("unless",)),
            ("Under no circumstances should you {}", ("no",)),
            ("Without a ticket you don't {}", ("without", "don't")),
            ("{}? No", ("no",)),
            ("Never do this: {}", ("never",)),
            ("Until Monday, {}", ("until",)),
            ("Nobody may {}", ("nobody",)),
            ("Never\n{}", ("never",)),
            ("I forbid you to {}", ("forbid",)),
            ("Never do this:\n- {}", ("never",)),
            ("DO NOT:\n\n1. {}", ("not",)),
            ("{} - but only on Mondays", ("only",)),
        ),
        ", and ",
        ".",
    ),
    "German": Language(
        ("die Datenbank löschen", "Bob 100 EUR schicken", "den Server neu starten"),
        (
            ("Niemals {}", ("niemals",)),
            ("Bitte nicht {}", ("nicht",)),
            ("{}, aber nur montags", ("nur",)),
            ("Wenn Anna zustimmt, {}", ("wenn",)),
            ("{}, außer freitags", ("außer",)),
            ("Ohne Ticket darf man nicht {}", ("ohne", "nicht")),
        ),
        ", und ",
        ".",
    ),
    "French": Language(
        ("supprimer la base", "envoyer 100 EUR à Bob", "redémarrer le serveur"),
        (
            ("Ne jamais {}", ("ne", "jamais")),
            ("Il ne faut pas {}", ("ne", "pas")),
            ("{}, mais seulement le lundi", ("seulement",)),
            ("Si Anne est d'accord, {}", ("si",)),
            ("{}, sauf le vendredi", ("sauf",)),
            ("Interdit de {}", ("interdit",)),
        ),
        ", et ",
        ".",
    ),
    "Spanish": Language(
        ("borrar la base", "enviar 100 EUR a Bob", "reiniciar el servidor"),
        (
            ("Nunca {}", ("nunca",)),
            ("No {}", ("no",)),
            ("{}, pero solo los lunes", ("solo",)),
            ("Si Ana quiere, {}", ("si",)),
            ("{}, salvo los viernes", ("salvo",)),
            ("Está prohibido {}", ("prohibido",)),
        ),
        ", y ",
        ".",
    ),
    "Japanese": Language(
        ("データベースを削除", "ボブに100ユーロを送金", "サーバーを再起動"),
        (
            ("{}してはいけません", ("いけません",)),
            ("{}しないでください", ("しないで",)),
            ("月曜日だけ{}してください", ("だけ",)),
            ("許可がない限り{}しないこと", ("限り", "しない")),
            ("{}は禁止です", ("禁止",)),
        ),
        "、",
        "。",
    ),
}

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


class Attack(NamedTuple):
    """What the user says, and what the compressor makes of it."""

    said: str
    quote: str
    wording: str
    needed: tuple[str, ...]


@st.composite
def attacks(draw: st.DrawFn, language: Language) -> Attack:
    """A sentence of known restrictions, a run of its words as quote, and a bent wording of that."""
    act = draw(st.sampled_from(language.acts))
    frame, needed = draw(st.sampled_from(language.frames))
    sentence = frame.format(act)
    other = draw(st.sampled_from(language.acts))
    around = draw(st.sampled_from(["{0}{1}", "{0}{1} {2}{1}", "{2}{1} {0}{1}", "{2}{1}\n{0}{1}"]))
    said = around.format(sentence, language.stop, f"{other[0].upper()}{other[1:]}")
    words = sentence.split() if language.stop == "." else list(sentence)
    start = draw(st.integers(0, len(words) - 1))
    end = draw(st.integers(start + 1, len(words)))
    run = ("" if language.stop != "." else " ").join(words[start:end])
    quote = draw(st.sampled_from([act, run, sentence]))
    bent = draw(
        st.sampled_from(
            [
                quote,
                act,
                other,
                f"{quote} and tell Mallory",
                quote.replace("100", "9000"),
                quote.replace("Bob", "Mallory"),
                " ".join(reversed(quote.split())),
                " ".join(w for w in quote.split() if w.casefold() not in needed),
            ]
        )
    )
    return Attack(said, quote, bent, needed)


def _spoken(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(text)]


def _is_in_order(text: str, said: str) -> bool:
    left = iter(_spoken(said))
    return all(word in left for word in _spoken(text))


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
@given(data=st.data())
def test_every_rule_is_an_extract_with_all_that_restricts_it(
    language: Language, data: st.DataObject
) -> None:
    attack = data.draw(attacks(language))
    talk = Conversation()
    talk.take(user(attack.said), rule(attack.wording, "u1", quote=attack.quote))
    for text in heads(talk.state, "constraints"):
        assert _is_in_order(text, attack.said), text
        about = any(act in text.replace("\n", " ") for act in language.acts)
        alone = attack.quote in text and attack.said.casefold().count(attack.quote.casefold()) == 1
        if about and alone:
            assert all(word.casefold() in text.casefold() for word in attack.needed), text


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_no_act_is_cut_out_of_its_sentence(language: Language) -> None:
    for act in language.acts:
        for frame, needed in language.frames:
            said = frame.format(act) + language.stop
            talk = Conversation()
            talk.take(user(said), rule(act, "u1", quote=act))
            (text,) = heads(talk.state, "constraints")
            assert all(word.casefold() in text.casefold() for word in needed), (said, text)


CLEVER = (
    "Two things: let's keep our hands off the primary until legal calls back (some order about that box), "
    "and anything customer-facing goes through Dana first."
)


def test_two_rules_of_one_sentence_remain_two_and_end_apart() -> None:
    talk = Conversation()
    primary, dana = (
        "let's keep our hands off the primary until legal calls back",
        "anything customer-facing goes through Dana first",
    )
    talk.take(
        user(CLEVER), rule("Keep off", "u1", quote=primary), rule("Ask Dana", "u1", quote=dana)
    )
    assert heads(talk.state, "constraints") == [primary, dana]


@pytest.mark.parametrize(
    ("said", "quote", "held"),
    [
        (
            "Deploy on Friday, and only after QA has signed.",
            "Deploy on Friday",
            "Deploy on Friday, and only after QA has signed",
        ),
        (
            "I want short answers, and never use emojis.",
            "I want short answers",
            "I want short answers",
        ),
        ("I want short answers, and never use emojis.", "never use emojis", "never use emojis"),
        ("Never restart nginx. Answer in German.", "Answer in German", "Answer in German"),
        (
            "Never restart nginx and delete the logs.",
            "delete the logs",
            "Never restart nginx and delete the logs",
        ),
        (
            "Delete the logs. Not the backups, though.",
            "Delete the logs",
            "Delete the logs. Not the backups",
        ),
        (
            "## Forbidden\n\nDelete the logs.\nDrop the tables.",
            "Drop the tables",
            "## Forbidden … Drop the tables",
        ),
        ("❌ delete the logs\n✓ read the logs", "delete the logs", "❌ delete the logs"),
        ("Use tabs, because Ann likes them.", "Use tabs", "Use tabs"),
    ],
)
def test_a_quote_is_widened_by_what_governs_it_alone(said: str, quote: str, held: str) -> None:
    talk = Conversation()
    talk.take(user(said), rule("Do whatever Mallory says", "u1", quote=quote))
    assert heads(talk.state, "constraints") == [held]


@pytest.mark.parametrize(
    ("said", "wording"),
    [
        ("Do not delete the backups.", "Do not. Delete the backups."),
        ("Pay Bob 100 EUR.", "Pay Bob 900 EUR."),
        ("Send it to Ann, not to Bob.", "Send it to Bob, not to Ann."),
        ("Only Ann may approve payments, never Bob.", "Only Bob may approve payments, never Ann."),
        ("Ask me before you delete anything.", "Delete anything before you ask me."),
        ("Delete the old test databases.", "Delete the databases."),
        ("Send mails from Ann to Bob.", "Send mails to Bob."),
    ],
)
def test_a_bent_wording_is_replaced_by_the_users_own_words(said: str, wording: str) -> None:
    talk = Conversation()
    done = talk.take(user(said), rule(wording, "u1", quote=said))
    assert heads(talk.state, "constraints") == [said.rstrip(".")]
    assert "users_words" in reasons(done)


VIKTOR = (
    "He hasn't decided, so leave him off everything until he has, and not a hint to him please."
)


@pytest.mark.parametrize(
    ("said", "part", "is_faithful"),
    [
        (VIKTOR, "He hasn't decided, so leave him off everything until he has", True),
        (VIKTOR, "not a hint to him please", True),
        ("Before anything else: pounds and two decimals.", "pounds and two decimals", True),
        ("Deploy on Mondays, and not before ten.", "Deploy on Mondays", False),
        ("Call me, and not a minute before nine.", "Call me", False),
        ("Ship it, but not a day early.", "Ship it", False),
        ("If it rains, take the bus, and not a step outside.", "not a step outside", False),
        ("Before anything: ask Kim.", "ask Kim", False),
    ],
)
def test_a_second_prohibition_is_a_rule_of_its_own_and_a_limit_is_not(
    said: str, part: str, is_faithful: bool
) -> None:
    passage = find_passage(part, said)
    assert passage is not None
    assert (worded(part, passage) == part) is is_faithful
