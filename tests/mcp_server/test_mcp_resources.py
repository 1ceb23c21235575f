"""The resources of `acc mcp`: state, rules, and what a turn changed."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from clients import memory_in, read, read_or_error, served, talk
from mcp import Client

from acc import Policy, Turn
from acc.mcp_server.answers import Answers
from acc.mcp_server.serving import Serving
from acc.turn.observations import Channel

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
    assert "+ c1" in talk(server, lambda c: read(c, "acc://on%20call%2F1/diff/1"))
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
        'c1 constraints, by user, from u1: "Never restart nginx during business hours"',
    ]
    assert diff.startswith("turn 2: ")
    assert '(added): "' in diff


@pytest.mark.parametrize("turn", ["0", "2", "-1", "x", "1e3", "9" * 30, "٣"])
def test_a_turn_that_is_not_there_is_an_error_that_names_those_that_are(
    turn: str, tmp_path: Path
) -> None:
    memory = memory_in(tmp_path)
    memory.step(None, Turn.said(RULE), thread="t")
    told = talk(served(memory), lambda c: read_or_error(c, f"acc://t/diff/{quote(turn, safe='')}"))
    assert told.startswith("error: there is no turn")
    assert told.endswith("To fix: name a turn from 1 to 1")


def test_a_diff_follows_the_branch_of_the_newest_state(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    first = memory.step(None, Turn.said(RULE), thread="t").state
    memory.step(first, Turn.said("Ottilie left the branch."), thread="t")
    memory.step(first, Turn.said("Never page Jorge at night."), thread="t")
    diff = Answers(memory, Serving()).diff("t", "2")
    assert "Jorge" in diff
    assert "Ottilie" not in diff


def test_a_diff_tells_whatever_left_the_state_with_its_reason(tmp_path: Path) -> None:
    memory = memory_in(tmp_path, policy=Policy(max_tokens=200))
    answers = Answers(memory, Serving(speaks_for=Channel.USER))
    for n in range(10):
        answers.remember(f"Host web-{n} runs shop {n} for Ana {n}.", "t")
    diffs = "\n".join(answers.diff("t", str(turn)) for turn in range(1, 11))
    log = memory._audit_of(Serving().whose("t"))
    assert log is not None
    gone = [c for entry in log.records() for c in entry["diff"] if c["change"] == "removed"]
    told = [line for line in diffs.splitlines() if line.startswith("- ")]
    assert len(told) == len(gone) > 10
    assert "(lapsed): " in diffs
    assert any(word in diffs for word in ("(made_room): ", "(left_out): ", "(evicted_tokens): "))
    assert "()" not in diffs
