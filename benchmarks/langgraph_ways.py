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
from langchain_core.messages import RemoveMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph_workload import ROLE, Workload

from acc.controller.controller import MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.reading import Reading
from acc.testing.chat_model import ScriptedChatModel
from acc.turn.observations import Channel
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
    yield _middleware(folder, workload, opened)
    yield _summarization(workload)
    yield from _langmem(workload)


def _ours(
    folder: Path, workload: Workload, opened: ExitStack, durability: Durability, suffix: str
) -> Iterator[Way]:
    for name, store in (("ACC, journal alone", "none"), ("ACC, embedded Chroma", None)):
        memory = opened.enter_context(_memory(folder / f"{name}{suffix}", store))
        model = workload.model()

        def made(saver: Any, model: Any = model, memory: Any = memory) -> Any:
            return build(model, [workload.tool()], memory, role=ROLE, checkpointer=saver)

        yield Way(f"{name}{suffix}", model, made, durability)


def _memory(folder: Path, store: str | None) -> MemoryController[CompressedCognitiveState]:
    """A memory at the defaults of one with a model, whose compressor costs nothing."""
    policy = Policy(cadence=Cadence(compress_over=2_000))
    return MemoryController.open(folder, model=scripted, policy=policy, store=store)


def scripted(reading: Reading) -> Proposal:
    """A proposal as a compressor would make it, at no cost: five facts of the newest tool result."""
    tools = [m for m in reading.messages if m.channel is Channel.TOOL and m.status != "read"]
    if not tools:
        return Proposal()
    words = tools[-1].text.split()
    facts = [f"{words[at]}: {' '.join(words[at + 1 : at + 9])}" for at in range(0, 40, 8)]
    refs = (tools[-1].ref,)
    records = tuple(ProposedRecord("relational_map", {"text": fact}, refs) for fact in facts)
    return Proposal(records=records)


def _middleware(folder: Path, workload: Workload, opened: ExitStack) -> Way:
    model = workload.model()
    memory = opened.enter_context(_memory(folder / "middleware", "none"))
    name = "ACC as middleware, journal alone"
    return _agent(name, workload, model, MemoryMiddleware(memory))


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
        kept = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *state["messages"][-1:]]
        return {"messages": kept} if prune else {}

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
