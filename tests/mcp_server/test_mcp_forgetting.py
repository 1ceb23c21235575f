"""The tool `forget` of `acc mcp`: only for operators, only after a plan, and completely."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from helpers_mcp_server import Called, call, calls, memory_in, served, stored, talk
from mcp import Client

from acc.turn.observations import Channel
from acc.turn.turn import Turn

RULE = "Never page Ottilie Quandt at night."


def forget(ref: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "forget", {"ref": ref, "thread": "t", **more}


def code_in(plan: str) -> str:
    found = re.search(r'confirm="(\w+)"$', plan)
    assert found
    return found[1]


def said(*texts: str) -> list[tuple[str, dict[str, Any]]]:
    return [("remember", {"text": text, "thread": "t"}) for text in texts]


def test_without_the_operators_flag_there_is_no_such_tool(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    server = served(memory, speaks_for=Channel.USER)
    assert "forget" not in [tool.name for tool in talk(server, Client.list_tools).tools]
    *_, told = calls(server, *said(RULE), forget("u1", confirm="00000000"))
    assert told.failed
    assert "Unknown tool" in told
    assert "Quandt" in str(memory.last_state("t"))


def test_the_code_of_the_plan_erases_exactly_that(tmp_path: Path) -> None:
    with memory_in(tmp_path / "memory", index="now") as memory:
        server = served(memory, speaks_for=Channel.USER, may_forget=True)

        async def conversation(client: Client) -> list[str]:
            for name, arguments in said(RULE, "Checkout is slow: p95 is 4.2s."):
                await call(client, name, **arguments)
            plan = await call(client, "forget", ref="u1", thread="t")
            wrong = await call(client, "forget", ref="u1", thread="t", confirm="12345678")
            code = code_in(plan)
            done = await call(client, "forget", ref="u1", thread="t", confirm=code)
            after = await call(client, "read_state", thread="t")
            again = await call(client, "forget", ref="u1", thread="t", confirm=code)
            retry = await call(client, "recall", query="Ottilie", thread="t")
            return [plan, wrong, done, after, again, retry]

        plan, wrong, done, state, again, retry = talk(server, conversation)
        assert plan.startswith("nothing is erased yet")
        assert '- u1: "Never page Ottilie Quandt at night."' in plan
        assert 'c1 constraints: "Never page Ottilie Quandt at night."' in plan
        assert wrong == f"the plan has changed since; {plan}"
        assert done.startswith("erased:")
        assert done.endswith("no trace is left")
        assert not [text for text in (done, state, again, retry) if "Quandt" in text]
        assert "p95 is 4.2s" in state
        assert "no evidence 'u1'" in again
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"Quandt" in path.read_bytes()]


def test_a_plan_that_others_have_overtaken_is_shown_again(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    server = served(memory, may_forget=True)

    async def conversation(client: Client) -> tuple[Called, Called]:
        await call(client, "remember", text=RULE, thread="t")
        plan = await call(client, "forget", ref="*", thread="t")
        await call(client, "remember", text="Lotte is on call.", thread="t")
        return plan, await call(client, "forget", ref="*", thread="t", confirm=code_in(plan))

    plan, late = talk(server, conversation)
    assert late.startswith("the plan has changed since; nothing is erased yet")
    assert code_in(late) != code_in(plan)
    state = memory.last_state("t")
    assert state is not None
    assert state.turn == 2


def test_a_whole_thread_goes_and_the_others_stay(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    memory.step(None, Turn.said("Lotte is on call."), thread="other")
    server = served(memory, may_forget=True)

    async def conversation(client: Client) -> Called:
        await call(client, "remember", text=RULE, thread="t")
        plan = await call(client, "forget", ref="*", thread="t")
        await call(client, "forget", ref="*", thread="t", confirm=code_in(plan))
        return await call(client, "read_state", thread="t")

    assert talk(server, conversation) == "nothing is stored in thread 't' yet"
    assert memory.last_state("other") is not None


def test_an_erased_message_stays_erased_when_it_is_sent_again(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    server = served(memory, may_forget=True)

    async def conversation(client: Client) -> Called:
        await call(client, "remember", text=RULE, thread="t", message_id="m-1")
        plan = await call(client, "forget", ref="a1", thread="t")
        await call(client, "forget", ref="a1", thread="t", confirm=code_in(plan))
        return await call(client, "remember", text=RULE, thread="t", message_id="m-1")

    assert talk(server, conversation).startswith("erased after it was stored under this")
    assert "Quandt" not in str(memory.last_state("t"))


def test_what_is_left_of_an_erased_message_does_not_bring_the_rest_back(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    server = served(memory, speaks_for=Channel.USER, may_forget=True)
    text = "Look at this:\n```\nOttilie Quandt owes 900 EUR.\n```"

    async def conversation(client: Client) -> tuple[str, Called]:
        told = await call(client, "remember", text=text, thread="t", message_id="m-1")
        plan = await call(client, "forget", ref="d1", thread="t")
        await call(client, "forget", ref="d1", thread="t", confirm=code_in(plan))
        return told, await call(client, "remember", text=text, thread="t", message_id="m-1")

    told, again = talk(server, conversation)
    assert told.startswith("stored in turn 1 (d1 as document, u1 as user)")
    assert again.startswith("erased after it was stored under this message_id")
    assert not [each for each in stored(memory) if "Quandt" in each]


@pytest.mark.parametrize("ref", ["", "u9", "doc.8f1c22ab90", "t", "../x", "u1 u2"])
def test_what_the_thread_does_not_have_cannot_be_erased(ref: str, tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    *_, told = calls(
        served(memory, speaks_for=Channel.USER, may_forget=True), *said(RULE), forget(ref)
    )
    assert told.failed
    assert "To fix: take a ref such as u3" in told
