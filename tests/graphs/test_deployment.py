"""Where the graphs run, by their settings."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
import runs as runs
from servers import free_port

from acc.errors import ConfigurationError, StoreError
from acc_graphs import deployment, plan_execute_reflect, react, triage
from acc_graphs.deployment import chat_model, deployed, open_memory, prepare, served_model


def test_a_folder_and_a_file_hold_a_thread_from_process_to_process(tmp_path: Path) -> None:
    where = str(tmp_path / "memory"), str(tmp_path / "checkpoints.sqlite")
    prepare(where[1])
    for turn in (1, 2):
        with deployed(*where) as parts:
            out = runs.graph_of("react", parts).invoke(runs.given("Hello."), runs.config_of("t"))
        assert out["ccs"]["turn"] == turn


def test_an_address_is_a_server_and_one_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        open_memory(str(tmp_path), f"http://127.0.0.1:{free_port()}")
    for wrong in ("http://", "127.0.0.1:8000"):
        with pytest.raises(ConfigurationError, match="no address"):
            open_memory(str(tmp_path), wrong)


@pytest.mark.parametrize(
    ("where", "package", "extra"),
    [
        ("file.sqlite", "langgraph.checkpoint.sqlite", "sqlite"),
        ("postgresql://a@b/c", "langgraph.checkpoint.postgres", "postgres"),
    ],
)
def test_a_checkpointer_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, where: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"agent-cognitive-compressor\[{extra}\]"):
        prepare(where)


def test_a_model_that_cannot_be_made_is_an_error_that_says_how_to_name_one() -> None:
    with pytest.raises(ConfigurationError, match="provider:model"):
        chat_model("nobody:nothing")


def test_the_served_model_is_scripted_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACC_MODEL", raising=False)
    assert served_model(triage.decide)._llm_type == "scripted"
    monkeypatch.setenv("ACC_MODEL", "openai:gpt-x")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert served_model(triage.decide)._llm_type == "openai-chat"


def test_the_factories_share_one_memory_a_graph_however_often_they_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_MEMORY", str(tmp_path))
    opened: dict[str, Any] = {}
    monkeypatch.setattr(deployment, "_OPENED", opened)

    async def twice() -> list[Any]:
        makers = (react.make_graph, plan_execute_reflect.make_graph)
        return await asyncio.gather(*(make() for make in makers for _ in range(2)))

    made = asyncio.run(twice())
    assert len(made) == 4
    # A server refuses to start on a graph that brings a checkpointer of its own.
    assert all(graph.checkpointer is None for graph in made)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan_execute_reflect", "react"]
    for memory in opened.values():
        memory.close()
