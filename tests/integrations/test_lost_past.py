"""The graph and the memory know different parts of a thread: a state ahead of the store is refused until
it is adopted, and a thread whose checkpoints are gone goes on from the memory."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import agents
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import graphs
from acc import MemoryController, Turn
from acc.cli import run
from acc.errors import ConfigurationError, StoreError
from acc.integrations.langchain import MemoryMiddleware
from acc.pipeline.update import update_state
from acc.testing.chat_model import ScriptedChatModel

CONFIG: Any = {"configurable": {"thread_id": "t"}}


Made = Callable[..., Any]


def node(memory: MemoryController, saver: Any, **options: Any) -> Any:
    model = ScriptedChatModel(script=lambda _: "ok")
    return graphs.agent(memory, model, checkpointer=saver, **options)


def middleware(memory: MemoryController, saver: Any, **options: Any) -> Any:
    model = ScriptedChatModel(script=lambda _: "ok")
    return agents.new_agent(model, [MemoryMiddleware(memory, **options)], checkpointer=saver)


@pytest.mark.parametrize("made", [node, middleware])
def test_a_checkpoint_on_a_fresh_volume(
    made: Callable[[MemoryController, InMemorySaver], Any], tmp_path: Path
) -> None:
    saver = InMemorySaver()
    with MemoryController.open(tmp_path / "lost") as memory:
        for said in ("Never restart nginx.", "Why is it slow?"):
            made(memory, saver).invoke({"messages": [said]}, CONFIG)
    with MemoryController.open(tmp_path / "fresh") as memory:
        graph = made(memory, saver)
        with pytest.raises(StoreError, match=r"past of the state is not in the store.*adopt"):
            graph.invoke({"messages": ["May I restart it?"]}, CONFIG)
        memory.adopt(graph.get_state(CONFIG).values["ccs"], thread="t")
        graph.invoke({"messages": ["May I restart it?"]}, CONFIG)
        state = memory.last_state("t")
        assert state is not None
        assert [c.text for c in state.constraints] == ["Never restart nginx"]
        assert graph.get_state(CONFIG).values["ccs"]["hash"] == state.hash


def test_the_update_without_a_store_has_no_past_to_miss(tmp_path: Path) -> None:
    state = update_state(None, Turn.said("Never restart nginx.")).state
    state = update_state(state.canonical(), Turn.said("Why is it slow?")).state
    with MemoryController.open(tmp_path) as memory:
        assert memory.step(state, Turn.said("On."), thread="t").state.turn == 3


def said(graph: Any, words: str, config: Any = CONFIG) -> tuple[int, str, list[str]]:
    """The turn, the branch and the rules after ``words``."""
    ccs = graph.invoke({"messages": [words]}, config)["ccs"]
    return ccs["turn"], ccs["branch"], [rule["text"] for rule in ccs["constraints"]]


@pytest.mark.parametrize("made", [node, middleware])
def test_a_thread_whose_checkpoints_an_erasure_deleted_keeps_its_rules(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, database = tmp_path / "memory", tmp_path / "checkpoints.sqlite"

    def talking(*words: str) -> Iterator[Any]:
        saver = SqliteSaver(sqlite3.connect(database, check_same_thread=False))
        with MemoryController.open(folder) as memory:
            for each in words:
                yield said(made(memory, saver), each)
        saver.conn.close()

    rule = "Never restart nginx."
    list(talking(rule, "Mrs Keller is in bed 12.", "Why is it slow?"))
    what = ["erase", "--thread", "t", "--artifact", "u2", "--memory", str(folder)]
    assert run([*what, "--checkpointer", f"sqlite:{database}", "--yes"]) == 0
    assert "goes on from the memory's last state" in capsys.readouterr().out
    assert list(talking("May I restart it?", "And now?")) == [
        (4, "main", ["Never restart nginx"]),
        (5, "main", ["Never restart nginx"]),
    ]


@pytest.mark.parametrize("made", [node, middleware])
def test_a_run_from_before_the_first_turn_begins_anew(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MemoryController.open(tmp_path) as memory:
        graph = made(memory, InMemorySaver())
        said(graph, "Never restart nginx.")
        said(graph, "Why is it slow?")
        first = list(graph.get_state_history(CONFIG))[-1].config
        turn, branch, rules = said(graph, "May I restart it?", first)
        assert (turn, branch != "main", rules) == (1, True, [])
        assert [
            vars(r)["acc"]["event"] for r in caplog.records if r.levelno == logging.WARNING
        ] == ["begun_anew"]
        assert said(graph, "And now?") == (2, branch, [])


@pytest.mark.parametrize("made", [node, middleware])
def test_an_asynchronous_checkpointer_is_asked_too(made: Made, tmp_path: Path) -> None:
    async def heard(graph: Any, words: str, config: Any = CONFIG) -> tuple[int, list[str]]:
        ccs = (await graph.ainvoke({"messages": [words]}, config))["ccs"]
        return ccs["turn"], [rule["text"] for rule in ccs["constraints"]]

    async def talk(memory: MemoryController) -> None:
        for name in ("lost", "kept"):
            async with AsyncSqliteSaver.from_conn_string(str(tmp_path / f"{name}.db")) as saver:
                graph = made(memory, saver)
                first = await heard(graph, "Never restart nginx." if name == "lost" else "And now?")
                assert first == ((1 if name == "lost" else 2), ["Never restart nginx"])
                begun = [each async for each in graph.aget_state_history(CONFIG)][-1].config
                if name == "kept":
                    assert await heard(graph, "May I restart it?", begun) == (1, [])

    with MemoryController.open(tmp_path / "memory") as memory:
        asyncio.run(talk(memory))


@pytest.mark.parametrize("made", [node, middleware])
def test_without_a_checkpointer_a_message_finds_its_rules(made: Made, tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        graph = made(memory, None)
        assert said(graph, "Never restart nginx.")[0] == 1
        assert said(graph, "Never restart nginx.")[0] == 1  # sent again: the same turn
        assert said(graph, "May I restart it?") == (2, "main", ["Never restart nginx"])
        assert said(made(memory, None, resume=False), "May I?")[2] == []


@pytest.mark.parametrize("made", [node, middleware])
def test_rules_are_not_lost_where_nothing_keeps_a_state(made: Made) -> None:
    memory = graphs.memory_of()
    graph = made(memory, InMemorySaver())
    for words in ("Never restart nginx.", "Why is it slow?"):
        said(graph, words)
    with pytest.raises(ConfigurationError, match="has had turns, and nothing keeps its state"):
        said(made(memory, InMemorySaver()), "May I restart it?")
    assert said(made(memory, InMemorySaver(), resume=False), "May I restart it?")[2] == []


class Silent(InMemorySaver):
    """A checkpointer that lists nothing."""

    def list(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("made", [node, middleware])
def test_rules_are_not_lost_where_the_checkpointer_cannot_be_asked(
    made: Made, tmp_path: Path
) -> None:
    with MemoryController.open(tmp_path) as memory:
        said(made(memory, Silent()), "Never restart nginx.")
        with pytest.raises(ConfigurationError, match=r"resume=True.*resume=False"):
            said(made(memory, Silent()), "May I restart it?")
        kept = said(made(memory, Silent(), resume=True), "May I restart it?")
        assert kept == (2, "main", ["Never restart nginx"])
