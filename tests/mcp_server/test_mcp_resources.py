"""The resources of `acc mcp`: what the agent reads, rules, and what a turn changed."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from helpers_mcp_server import memory_in, read, read_or_error, served, talk
from mcp import Client

from acc.journal import Journal
from acc.mcp_server.recalling import Recalling
from acc.mcp_server.remembering import Remembering
from acc.mcp_server.serving import Serving
from acc.state.policy import Policy
from acc.turn.observations import Channel
from acc.turn.turn import Turn

RULE = "Never restart nginx during business hours."


def test_a_client_without_a_thread_of_its_own_gets_templates(tmp_path: Path) -> None:
    server = served(memory_in(tmp_path))
    assert talk(server, Client.list_resources).resources == []
    templates = talk(server, Client.list_resource_templates).resource_templates
    assert [each.uri_template for each in templates] == [
        "acc://{thread}/state", "acc://{thread}/rules", "acc://{thread}/diff/{turn}",
    ]  # fmt: skip


def test_a_server_of_one_thread_lists_its_resources(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    memory.step(None, Turn.said(RULE), thread="on call/1")
    memory.step(None, Turn.said("Ottilie is elsewhere."), thread="other")
    server = served(memory, thread="on call/1")
    uris = [str(each.uri) for each in talk(server, Client.list_resources).resources]
    assert uris == ["acc://on%20call%2F1/state", "acc://on%20call%2F1/rules"]
    assert "Never restart nginx" in talk(server, lambda client: read(client, uris[1]))
    assert "added c1" in talk(server, lambda c: read(c, "acc://on%20call%2F1/diff/1"))
    for uri in ("acc://other/state", "acc://other/diff/1"):
        told = talk(server, lambda client, at=uri: read_or_error(client, at))
        assert told == f"error: Unknown resource: {uri}"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", ["t", "../../etc/passwd", "Zürich / 日本 🧑‍🚀", "a.b:c", ".."])
def test_the_resources_of_any_thread_are_read(name: str, mode: str, tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    state = memory.step(None, Turn.said(RULE), thread=name).state
    memory.step(state, Turn.said("Checkout is slow: p95 is 4.2s."), thread=name)
    server, at = served(memory), quote(name, safe="")

    async def each(client: Client) -> list[str]:
        return [await read(client, f"acc://{at}/{path}") for path in ("state", "rules", "diff/2")]

    shown, rules, diff = talk(server, each, mode)
    assert "Never restart nginx during business hours" in shown
    assert rules.splitlines() == [
        "rules and goals after turn 2: 1",
        'c1 rule, by user, from u1: "Never restart nginx during business hours."',
    ]
    assert diff.startswith("turn 2, version 2: ")
    assert "added r" in diff


@pytest.mark.parametrize("turn", ["0", "2", "-1", "x", "1e3", "9" * 30, "٣"])
def test_a_turn_that_is_not_there_is_an_error_that_names_those_that_are(
    turn: str, tmp_path: Path
) -> None:
    memory = memory_in(tmp_path)
    memory.step(None, Turn.said(RULE), thread="t")
    told = talk(served(memory), lambda c: read_or_error(c, f"acc://t/diff/{quote(turn, safe='')}"))
    assert told.startswith("error: there is no turn")
    assert told.endswith("To fix: name a turn from 1 to 1")


def test_a_diff_stays_on_the_main_branch(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    first = memory.step(None, Turn.said(RULE), thread="t").state
    memory.step(first, Turn.said("Never page Jorge at night."), thread="t")
    memory.step(first, Turn.said("Never page Ottilie at night."), thread="t")  # a fork
    diff = Recalling(memory, Serving()).diff("t", "2")
    assert "Jorge" in diff
    assert "Ottilie" not in diff


def test_a_diff_tells_whatever_left_the_state_with_its_reason(tmp_path: Path) -> None:
    memory = memory_in(tmp_path, policy=Policy(max_tokens=80))
    serving = Serving(speaks_for=Channel.USER)
    for n in range(10):
        Remembering(memory, serving).remember(f"Host web-{n} runs shop {n} for Ana {n}.", "t")
    diffs = [Recalling(memory, serving).diff("t", str(turn)) for turn in range(1, 11)]
    lines = [line for diff in diffs for line in diff.splitlines()]
    told = [line for line in lines if line.startswith(("evicted r", "dropped r"))]
    state = memory.last_state("t")
    assert state is not None
    assert len(told) == 10 - len(state.relational_map) > 0


def test_later_words_and_a_claim_stand_with_the_rule(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    for said in ("Never restart db-1.", "You may restart db-1 now."):
        memory.step(None, Turn.said(said), thread="t")
    rules = Recalling(memory, Serving()).rules("t")
    assert rules.splitlines()[1] == (
        'c1 rule, by user, from u1, later u2 "You may restart db-1 now.", said to end by u2: ends: '
        '"Never restart db-1."'
    )
    diff = Recalling(memory, Serving()).diff("t", "2")
    assert [line.partition(":")[0] for line in diff.splitlines() if line.startswith("turn")] == [
        "turn 2, version 2", "turn 2, version 3",
    ]  # fmt: skip


def test_what_was_erased_is_not_in_a_diff(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    for said in (RULE, "Ottilie left."):
        memory.step(None, Turn.said(said), thread="t")
    with Journal.open(tmp_path) as journal:
        journal.blank("t", ["u2"])
    diff = Recalling(memory, Serving()).diff("t", "2")
    assert "Ottilie" not in diff
    assert "an erasure removed what it noted" in diff
    assert "erasure after turn 2" in diff
