"""Ways to keep a ReAct agent's memory, each a graph with the same model, role and tool."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph_workload import ROLE, Workload
from turn_overhead import scripted

from acc import InMemoryStore, MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.messages import replacing
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs.react import build

SUMMARIZE_OVER = 4_000
"""Tokens of messages at which the summarisers begin."""

Durability = Literal["sync", "async", "exit"]


@dataclass
class Way:
    """A way to keep memory.

    Attributes:
        name: Its row.
        model: The agent's model, which has seen every prompt.
        build: Makes its graph on a checkpointer.
        durability: When LangGraph writes checkpoints.
    """

    name: str
    model: ScriptedChatModel
    build: Callable[[Any], Any]
    durability: Durability = "async"

    @property
    def compared_with(self) -> str:
        """The name of the transcript at the same durability."""
        return "transcript, exit" if self.durability == "exit" else "transcript"


def ways(folder: Path, workload: Workload, opened: ExitStack) -> Iterator[Way]:
    """Every way that is installed, with what it needs opened below ``folder``."""
    for durability, suffix in (("async", ""), ("exit", ", exit")):
        yield from _ours(folder, workload, opened, durability, suffix)  # type: ignore[arg-type]
        yield _plain(f"transcript{suffix}", workload, durability, prune=False)  # type: ignore[arg-type]
    yield _plain("no memory", workload, "async", prune=True)
    yield _middleware(workload)
    yield _summarization(workload)
    yield from _langmem(workload)


def _ours(
    folder: Path, workload: Workload, opened: ExitStack, durability: Durability, suffix: str
) -> Iterator[Way]:
    embedded = MemoryController.open(folder / f"memory{suffix}", compressor=scripted)
    for name, memory in (
        ("ACC, store in memory", MemoryController(InMemoryStore(), scripted)),
        ("ACC, embedded Chroma", opened.enter_context(embedded)),
    ):
        model = workload.model()

        def made(saver: Any, model: Any = model, memory: Any = memory) -> Any:
            return build(model, [workload.tool()], memory, role=ROLE, checkpointer=saver)

        yield Way(f"{name}{suffix}", model, made, durability)


def _middleware(workload: Workload) -> Way:
    model, memory = workload.model(), MemoryController(InMemoryStore(), scripted)
    return _agent("ACC as middleware, store in memory", workload, model, MemoryMiddleware(memory))


def _summarization(workload: Workload) -> Way:
    summing = SummarizationMiddleware(
        workload.summarizer(), trigger=("tokens", SUMMARIZE_OVER), keep=("messages", 4)
    )
    return _agent("SummarizationMiddleware", workload, workload.model(), summing)


def _agent(name: str, workload: Workload, model: ScriptedChatModel, middleware: Any) -> Way:
    def made(saver: Any) -> Any:
        return create_agent(
            model,
            [workload.tool()],
            system_prompt=ROLE,
            middleware=[middleware],
            checkpointer=saver,
        )

    return Way(name, model, made)


def _plain(name: str, workload: Workload, durability: Durability, *, prune: bool) -> Way:
    """The reference graph's nodes without the memory: on the transcript, or on the turn alone."""
    model = workload.model()

    def begin(state: MessagesState) -> dict[str, Any]:
        return {"messages": replacing(state["messages"][-1:])} if prune else {}

    def reason(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(ROLE), *state["messages"]])]}

    def made(saver: Any) -> Any:
        return _looped(workload, MessagesState, begin, reason).compile(checkpointer=saver)

    return Way(name, model, made, durability)


class SummarizedState(MessagesState, total=False):
    """langmem's channels."""

    context: dict[str, Any]
    summarized_messages: list[Any]


def _langmem(workload: Workload) -> Iterator[Way]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langmem.short_term import SummarizationNode
    except ImportError:
        logging.warning("langmem is not installed: no row for its SummarizationNode")
        return
    model = workload.model()
    summing = SummarizationNode(
        model=workload.summarizer(), max_tokens=SUMMARIZE_OVER, max_summary_tokens=800
    )

    def reason(state: SummarizedState) -> dict[str, Any]:
        view = state["summarized_messages"]
        turn = _turn(state["messages"])
        if turn[0].id not in {m.id for m in view}:  # the user's current message was summarised away
            view = [*(m for m in view if m.type == "system"), *turn]
        return {"messages": [model.invoke([SystemMessage(ROLE), *view])]}

    def made(saver: Any) -> Any:
        return _looped(workload, SummarizedState, summing, reason, again=True).compile(
            checkpointer=saver
        )

    yield Way("langmem SummarizationNode", model, made)


def _turn(messages: Sequence[Any]) -> list[Any]:
    return list(messages[max(i for i, m in enumerate(messages) if m.type == "human") :])


def _looped(
    workload: Workload, schema: type[Any], first: Any, reason: Any, *, again: bool = False
) -> StateGraph[Any, Any, Any, Any]:
    """The loop of the reference graph; ``again`` has the first node come after the tools too."""
    graph = StateGraph(schema)
    graph.add_node("first", first)
    graph.add_node("reason", reason)
    graph.add_node("tools", ToolNode([workload.tool()]))
    graph.add_edge(START, "first")
    graph.add_edge("first", "reason")
    graph.add_edge("tools", "first" if again else "reason")
    graph.add_conditional_edges("reason", tools_condition)
    return graph
