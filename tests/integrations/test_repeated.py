"""A killed run said it, and the run that goes on says it again: by content and place it is one."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from acc.integrations.messages import Voices
from acc.integrations.notes import Notes
from acc.integrations.tailing import repeated
from acc.tail import Message, digest_of

READ = Voices.of(None, None, "user").read


def since(*messages: HumanMessage | AIMessage) -> list[tuple[int, Message, str]]:
    """What the journal took, from place 7 on."""
    said = [o for read in READ(messages) for o in read.observations]
    return [(7 + n, Message(o, 1), digest_of(o)) for n, o in enumerate(said)]


def test_words_that_are_sent_again_under_another_id_are_known() -> None:
    was = since(HumanMessage("Go.", id="1"), AIMessage("On it.", id="2"), AIMessage("Ok.", id="3"))
    (read,) = new = READ([HumanMessage("Go.", id="9")])
    assert repeated(new, was) == ({"9": " ".join(read.digests)}, 7)
    assert repeated(READ([AIMessage("On it.", id="8"), AIMessage("New.", id="9")]), was[1:])[1] == 8


def test_other_words_and_those_of_another_input_are_new() -> None:
    was = since(HumanMessage("Go.", id="1"), AIMessage("Ok.", id="2"), HumanMessage("Yes.", id="3"))
    assert repeated(READ([HumanMessage("Stop.", id="9")]), was) == ({}, 0)
    assert repeated(READ([HumanMessage("Go.", id="9")]), was) == ({}, 0)
    assert repeated(READ([HumanMessage("Go.", id="9")]), []) == ({}, 0)


def test_the_notes_keep_how_far_a_run_has_repeated() -> None:
    assert Notes.load(Notes(again=(7, 9)).dump()).again == (7, 9)
    assert "again" not in Notes().dump()
