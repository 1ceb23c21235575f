"""A model that quotes the user's real words for the end of a rule that they are not about."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from asking import GOOD, POLICY, asking, wire
from strategies import Conversation, end, rule, user

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.compress.lifting_quotes import doubt_about, doubted, passage_of
from acc.compress.prompt import Reading
from acc.controller import MemoryController
from acc.pipeline.update import update_state
from acc.state.items import Constraint, Goal, Item
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock, ModelServer
from acc.turn.turn import Turn

RECORDED = Path(__file__).parents[1] / "fixtures" / "recorded_retirements.jsonl"
HELD = ("Never restart nginx", "Batches of at most 200", "Only Sanne talks to the sponsor")


def doubt(words: str, text: str, *others: str, message: str = "", reply: str = "") -> str:
    items = [Constraint(text=t, quote=t, id=f"c{n}") for n, t in enumerate((text, *others))]
    return doubt_about(passage_of(words, message or words, reply), items[0], items[1:])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("You may restart nginx again.", HELD[0]),
        ("Make it 300.", HELD[1]),
        ("That rule is off.", HELD[2]),
        ("Forget that, do it whenever you like.", HELD[0]),
        ("Use web-5 instead of web-3 from now on.", "Deploy to web-3 only"),
        ("Deploy to web-5 from now on instead.", "Deploy to web-3 only"),
        ("The rule is lifted: Never restart nginx.", HELD[0]),
        ("Talk to the sponsor yourself, by all means.", HELD[2]),
        ("Das mit nginx kannst du vergessen, die Regel ist nicht mehr nötig.", HELD[0]),
        ("Die Regel ist hinfällig, du kannst das wieder tun.", "Niemals nachts die db-3 neu starten"),
    ],
)  # fmt: skip
def test_words_that_may_be_meant_are_not_doubted(words: str, text: str) -> None:
    assert doubt(words, text, *(other for other in HELD if other != text)) == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Checkout is slow: p95 is 4.2s. Why?", HELD[0]),
        ("What is the weather like in Lisbon?", HELD[2]),
        ("I need a summary of the incident for Dana.", HELD[0]),
        ("svc-7 runs on node-12.", "Never restart db-3 during backups"),
        ("What svc-5 told us is over.", "Never restart db-3 during backups"),
        ("Never restart db-50 during backups.", "Never restart db-3 during backups"),
        ("Never restart nginx!", HELD[0]),
        ("The rule is lifted: Never restart nginx.", HELD[2]),
    ],
)
def test_words_about_something_else_are_doubted(words: str, text: str) -> None:
    assert doubt(words, text, *(other for other in HELD if other != text))


def test_what_stands_around_the_quoted_words_counts() -> None:
    alone = "Please send the boat to the island."
    assert doubt(alone, "No drone near the colony until the warden is back")
    message = f"{alone} The warden is back at the colony."
    assert not doubt(alone, "No drone near the colony until the warden is back", message=message)
    ticket = "DB-4411 is closed, so go."
    assert doubt(ticket, "No deploys until the migration ends")
    assert not doubt(ticket, "No deploys until the migration ends", reply="Migration: DB-4411.")
    reply = "The warden wrote that he is back."
    assert not doubt(alone, "No drone near the colony until the warden is back", reply=reply)


def test_nothing_that_a_strong_model_retired_is_doubted() -> None:
    found = 0
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        item, *others = (_written(n, w) for n, w in enumerate([said["item"], *said["others"]]))
        passage = passage_of(said["quote"], said["user"], said["reply"])
        assert doubt_about(passage, item, others) == "", said["quote"]
        found += 1
    assert found == 15


def _written(number: int, item: dict[str, str]) -> Item:
    kind = Goal if item["slot"] == "goal_orientation" else Constraint
    return kind(text=item["text"], quote=item["quote"], id=f"i{number}")


@pytest.mark.slow
def test_labelled_liftings_are_hardly_ever_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks" / "keyless"))
    dataset = importlib.import_module("dataset")
    doubts, cases = 0, 0
    for _, case in dataset.read("rule_liftings", "train"):
        for effect in case["effects"]:
            text = case["held"][effect["rule"]]
            others = (held for held in case["held"] if held != text)
            around = {"message": case["message"], "reply": case["reply"]}
            doubts += bool(doubt(effect["quote"], text, *others, **around))
            cases += 1
    assert cases > 500
    assert doubts < 0.02 * cases


def test_what_is_not_pinned_not_quoted_or_not_there_is_left_to_commit() -> None:
    talk = Conversation()
    talk.take(user("Never restart nginx."), rule("Never restart nginx", "u1"))
    turn = talk.turn(user("Why is it slow?"))
    retire = (
        end("c1", "u2", quote="Never said"), end("c1", "u2"), end("c1", "u9", quote="Why"),
        end("r9", "u2", quote="Why is it slow"),
    )  # fmt: skip
    reading = Reading(turn, talk.state, (), talk.policy, "revise")
    assert doubted(Proposal(retire=retire), reading).retire == retire


ASKED = "Checkout is slow: p95 is 4.2s. Why?"


def ends(quote: str, **more: Any) -> dict[str, Any]:
    return wire(retire=[{"id": "c1", "cites": ["u2"], "quote": quote, **more}])


def ruled(server: ModelServer) -> CompressedCognitiveState:
    done = update_state(None, Turn.said("Never restart nginx."), compressor=asking(server.base_url))
    assert [item.id for item in done.state.constraints] == ["c1"]
    return done.state


def test_the_model_is_told_once_and_the_rule_stands_if_it_insists(tmp_path: Path) -> None:
    answers = [{**GOOD, "relational_map": []}, ends("Checkout is slow"), ends("p95 is 4.2s")]
    with ModelServer(answers) as server:
        memory = MemoryController(
            InMemoryStore(), asking(server.base_url), Settings(clock=FixedClock(), audit=tmp_path)
        )
        first = memory.step(None, Turn.said("Never restart nginx."), thread="t")
        done = memory.step(first.state, Turn.said(ASKED), thread="t")
        memory.close()
    assert "quote_unrelated" in server.requests[-1].messages[-1].text
    assert len(server.requests) == 3
    assert done.outcome == "rule_refused"
    assert [item.text for item in done.state.constraints] == ["Never restart nginx"]
    assert [n.item for n in done.commit.refused if n.reason == "quote_unrelated"] == ["c1"]
    (log,) = tmp_path.glob("*.jsonl")
    assert verify(AuditLog(log), {POLICY.fingerprint: POLICY}) == 2


def test_a_model_that_quotes_better_in_its_repair_is_followed() -> None:
    answers = [{**GOOD, "relational_map": []}, ends("It was the cache"), ends("nginx may restart")]
    with ModelServer(answers) as server:
        state = ruled(server)
        said = Turn.said("It was the cache, so nginx may restart again.")
        done = update_state(state, said, compressor=asking(server.base_url))
    assert done.state.constraints == ()


def test_a_model_cannot_write_the_doubt_itself() -> None:
    wires = ends("You may restart nginx again", doubt="none of your business")
    with ModelServer([{**GOOD, "relational_map": []}, wires]) as server:
        state = ruled(server)
        said = Turn.said("You may restart nginx again.")
        done = update_state(state, said, compressor=asking(server.base_url))
    assert done.state.constraints == ()
