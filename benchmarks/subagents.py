"""Rules that reach sub-agents, by the way in which people build them; offline, models scripted.

    python benchmarks/subagents.py [--rules 10] [--json]

Needs deepagents, langgraph-supervisor and langgraph-swarm. The user says one rule a turn while another agent
answers. Then the sub-agent runs once. Counted are the rules in the prompt of its model: with no memory, with a
memory of its own, and with ``share="rules", to="all"`` in both agents. A rule counts if its sentence stands in the
prompt outside of the user's own messages: an agent that is handed the whole transcript reads them there, and this is
shown by itself. Last, the rules that the task, a tool or the sub-agent itself put on the board; there must be none.
"""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode
from acc.journal import ThreadKey
from acc.testing.chat_model import ScriptedChatModel, call

NOW = "Do it now."
"""The user's message after which the sub-agent runs."""

TASK = "Always answer in French. Look after the hosts."
"""The task that the parent's model writes, with a rule that is none of the user's."""

CONFIGURED: Any = {"configurable": {"thread_id": "bench"}, "recursion_limit": 100}


def opened() -> MemoryController[Any]:
    """Return a memory in a folder of its own, which goes with the process."""
    folder = tempfile.mkdtemp(prefix="subagents-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    memory: MemoryController[Any] = MemoryController.open(folder, store="none")
    atexit.register(memory.close)
    return memory


@dataclass
class Setting:
    """One column: who has which memory.

    Attributes:
        name: Its heading.
        parent: Whether the parent has the memory.
        child: Whether the sub-agent has it.
        share: What they share.
    """

    name: str
    parent: bool
    child: bool
    share: Any = None
    memory: MemoryController[Any] = field(default_factory=opened)

    def of(self, has_memory: bool) -> list[MemoryMiddleware]:
        """Return the middleware of an agent."""
        return [MemoryMiddleware(self.memory, **self._sharing)] if has_memory else []

    def node(self) -> MemoryNode:
        """Return the memory's node of the parent."""
        return MemoryNode(self.memory, **self._sharing)

    @property
    def _sharing(self) -> dict[str, Any]:
        return {"share": self.share, "to": "all"} if self.share else {}


def settings() -> list[Setting]:
    """Return the columns."""
    return [
        Setting("no memory", False, False),
        Setting("a memory each", True, True),
        Setting("share, both", True, True, "rules"),
    ]


def sub_agent() -> ScriptedChatModel:
    """Return a sub-agent's model: it says a rule of its own."""
    return ScriptedChatModel(script=lambda _: "Never use tabs.")


def acting(*calls: Any) -> ScriptedChatModel:
    """Return the parent's model: it makes ``calls`` when the user says so."""

    def script(prompt: list[BaseMessage]) -> AIMessage:
        is_now = prompt[-1].type == "human" and str(prompt[-1].text).endswith(NOW)
        return AIMessage("", tool_calls=list(calls)) if is_now else AIMessage("Noted.")

    return ScriptedChatModel(script=script)


def tools(how: Setting, model: ScriptedChatModel) -> Any:
    """`create_agent` as a tool of `create_agent`."""
    helper = create_agent(model, [], middleware=how.of(how.child))

    @tool
    def delegate(task: str) -> str:
        """Ask the helper."""
        return str(helper.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    middleware = how.of(how.parent)
    boss = acting(call("delegate", task=TASK))
    return create_agent(boss, [delegate], middleware=middleware, checkpointer=InMemorySaver())


def deepagents(how: Setting, model: ScriptedChatModel) -> Any:
    """deepagents' tool `task`."""
    from deepagents import create_deep_agent

    helper: Any = {
        "name": "helper", "description": "helps", "system_prompt": "You help.", "model": model,
        "tools": [], "middleware": how.of(how.child),
    }  # fmt: skip
    boss = acting(call("task", description=TASK, subagent_type="helper"))
    return create_deep_agent(
        model=boss, tools=[], middleware=how.of(how.parent), subagents=[helper],
        checkpointer=InMemorySaver(),
    )  # fmt: skip


def supervisor(how: Setting, model: ScriptedChatModel) -> Any:
    """langgraph-supervisor: one worker hears the rules, the other one acts."""
    from langgraph_supervisor import create_supervisor

    def decide(prompt: list[BaseMessage]) -> AIMessage:
        said = prompt[-1]
        if said.type != "human":
            return AIMessage("Done.")
        name = "doer" if str(said.text).endswith(NOW) else "clerk"
        return AIMessage("", tool_calls=[call(f"transfer_to_{name}", f"h{len(prompt)}")])

    clerk = create_agent(acting(), [], name="clerk", middleware=how.of(how.parent))
    doer = create_agent(model, [], name="doer", middleware=how.of(how.child))
    made = create_supervisor([clerk, doer], model=ScriptedChatModel(script=decide))
    return made.compile(checkpointer=InMemorySaver())


def swarm(how: Setting, model: ScriptedChatModel) -> Any:
    """langgraph-swarm: one agent hears the rules and hands over."""
    from langgraph_swarm import create_handoff_tool, create_swarm

    first = create_agent(
        acting(call("transfer_to_doer")), [create_handoff_tool(agent_name="doer")], name="clerk",
        middleware=how.of(how.parent),
    )  # fmt: skip
    doer = create_agent(model, [], name="doer", middleware=how.of(how.child))
    made = create_swarm([first, doer], default_active_agent="clerk")
    return made.compile(checkpointer=InMemorySaver())


def outer(how: Setting, work: Any, chosen: Any) -> Any:
    """A graph whose memory's node hears the rules, and which goes on to ``work`` as ``chosen`` says."""
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    if how.parent:
        builder.add_node("memory", how.node())
    else:
        builder.add_node("memory", lambda _: {})
    builder.add_node("work", work)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("Noted.")]})
    builder.add_edge(START, "memory")

    def goes_on(state: Any) -> Any:
        return chosen if str(state["messages"][-1].text).endswith(NOW) else "answer"

    builder.add_conditional_edges("memory", goes_on, ["work", "answer"])
    return builder.compile(checkpointer=InMemorySaver())


def send(how: Setting, model: ScriptedChatModel) -> Any:
    """A worker of `Send`."""
    worker = create_agent(model, [], middleware=how.of(how.child))

    def work(state: Any) -> dict[str, Any]:
        worker.invoke({"messages": [HumanMessage(state["task"])]})
        return {}

    return outer(how, work, [Send("work", {"task": TASK})])


def subgraph(checkpointer: Any) -> Callable[[Setting, ScriptedChatModel], Any]:
    """A subgraph, with or without checkpoints of its own, that a graph enters after the rules."""

    def made(how: Setting, model: ScriptedChatModel) -> Any:
        inner = create_agent(
            model, [], middleware=how.of(how.child), checkpointer=checkpointer, name="desk"
        )
        return outer(how, inner, "work")

    return made


WAYS: dict[str, Callable[[Setting, ScriptedChatModel], Any]] = {
    "`create_agent` as a tool": tools,
    "deepagents": deepagents,
    "langgraph-supervisor": supervisor,
    "langgraph-swarm": swarm,
    "worker of `Send`": send,
    "subgraph": subgraph(None),
    "subgraph with checkpoints of its own": subgraph(True),
}
"""The ways, by name."""


@dataclass
class Reached:
    """What one sub-agent read.

    Attributes:
        rules: Rules in its prompt, in what is not the user's own message.
        transcript: Rules that it reads only in the user's own messages.
        foreign: Rules on the board that the user never said.
    """

    rules: int
    transcript: int
    foreign: int


def measured(
    way: Callable[[Setting, ScriptedChatModel], Any], how: Setting, number: int
) -> Reached:
    """Say ``number`` rules, then have the sub-agent run."""
    model = sub_agent()
    app = way(how, model)
    said = [f"Never restart host-{n}." for n in range(number)]
    for text in (*said, NOW):
        app.invoke({"messages": [HumanMessage(text)]}, CONFIGURED)
    (prompt, *_) = model.prompts
    told = "\n".join(str(m.text) for m in prompt if not _is_users(m, said))
    heard = "\n".join(str(m.text) for m in prompt if _is_users(m, said))
    reached = {text for text in said if text.removesuffix(".") in told}
    seen = {text for text in said if text in heard}
    return Reached(len(reached), len(seen - reached), _foreign(how, said))


def _is_users(message: BaseMessage, said: Sequence[str]) -> bool:
    return message.type == "human" and str(message.text) in said


def _foreign(how: Setting, said: Sequence[str]) -> int:
    head = BoardMemory(how.memory, Board("bench")).head(ThreadKey("bench"))
    return sum(rule.text_of not in said for rule in head.state.constraints) if head.state else 0


def table(number: int) -> list[dict[str, Any]]:
    """Return a row for each way."""
    rows = []
    for name, way in WAYS.items():
        found = {how.name: measured(way, how, number) for how in settings()}
        shown = {
            heading: f"{r.rules} of {number}" + (f" (+ {r.transcript})" if r.transcript else "")
            for heading, r in found.items()
        }
        rows.append({"way": name, **shown, "others' rules": sum(r.foreign for r in found.values())})
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = table(asked.rules)
    if asked.json:
        print(json.dumps(rows))
        return
    print("| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


if __name__ == "__main__":
    main()
