"""What a process of a test does with a reference graph: enter it, be killed in it, go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage

from acc.controller.controller import MemoryController
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs import plan_execute_reflect, react, remediation, triage
from acc_graphs.deployment import deployed

Texts = list[tuple[str, str]]

SAID = {
    "react": (
        "Never restart a pipeline during clinic hours. Which jobs are affected?",
        "What has changed since then?",
        "The wards are waiting. Get it moving.",
    ),
    "plan_execute_reflect": (
        "Never deploy without two approvals. Note that for CVE-2031-0420 in parcel-gateway.",
        "Draft a remediation plan for CVE-2031-0420 in parcel-gateway.",
        "Once more, what is the plan?",
    ),
}
"""The user's messages, by graph."""


def settings_of(name: str) -> dict[str, Any]:
    """What the memory of a graph is opened with."""
    return dict(remediation.SETTINGS) if name == "plan_execute_reflect" else {}


def graph_of(name: str, parts: Mapping[str, Any]) -> Any:
    """A reference graph with its scripted model, on a memory and a checkpointer."""
    if name == "react":
        model = ScriptedChatModel(script=triage.decide)
        tools = triage.Clinic().tools()
        options: dict[str, Any] = {"role": triage.ROLE, "channels": triage.CHANNELS}
        return react.build(model, tools, **parts, **options)
    model = ScriptedChatModel(script=remediation.decide)
    options = {"role": remediation.ROLE, "channels": remediation.CHANNELS}
    return plan_execute_reflect.build(model, remediation.TOOLS, **parts, **options)


def config_of(thread: str) -> Any:
    """The configuration of a run on ``thread``."""
    return {"configurable": {"thread_id": thread}}


def given(said: str) -> dict[str, Any]:
    """A run's input."""
    return {"messages": [HumanMessage(said)]}


def observed(memory: MemoryController[Any], ccs: Any, thread: str) -> Texts:
    """Channel and text of all that the state's branch holds of the conversation, in order."""
    branch = ccs.get("branch", "main")
    seen = memory.journal.messages(thread, branch=branch, also_open=True)
    return [(each.message.channel.value, each.message.text) for each in seen]


def state_of(memory: MemoryController[Any], ccs: Any) -> Any:
    """The state in a channel."""
    return memory.policy.schema.load(ccs)


class Killer(BaseCallbackHandler):
    """Kills this process in a node: its work is done, and none of it is checkpointed."""

    run_inline = True

    def __init__(self, node: str, skip: int = 0) -> None:
        self._node = node
        self._skip = skip
        self._run: UUID | None = None

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: Any = None, **more: Any
    ) -> None:
        named = more.get("name") == self._node
        if self._run is None and named and (metadata or {}).get("langgraph_node") == self._node:
            self._skip -= 1
            self._run = run_id if self._skip < 0 else None

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        if run_id == self._run:
            os.kill(os.getpid(), signal.SIGKILL)


def die_in(name: str, where: tuple[str, str], node: str, durability: Any) -> None:
    """A turn, and another one that is killed in ``node``."""
    with deployed(*where, **settings_of(name)) as parts:
        graph, config = graph_of(name, parts), config_of("t")
        graph.invoke(given(SAID[name][0]), config, durability=durability)
        config["callbacks"] = [Killer(node)]
        graph.invoke(given(SAID[name][1]), config, durability=durability)


def go_on(name: str, where: tuple[str, str], durability: Any) -> tuple[Texts, str, str]:
    """Resume what can be resumed, send again what cannot, and go on for a turn.

    Returns:
        What is stored, the state's rendering, and the name of its branch.
    """
    with deployed(*where, **settings_of(name)) as parts:
        graph, config = graph_of(name, parts), config_of("t")
        # Not ``next``: it is empty too where a node has ended and no checkpoint has followed yet.
        lost = not graph.get_state(config).tasks
        graph.invoke(given(SAID[name][1]) if lost else None, config, durability=durability)
        out = graph.invoke(given(SAID[name][2]), config, durability=durability)
        memory = parts["memory"]
        state = memory.last_state("t")
        return observed(memory, out["ccs"], "t"), render(state), state.branch


def uninterrupted(name: str, where: tuple[str, str]) -> tuple[Texts, str, str]:
    """The same three turns, and nobody killed."""
    with deployed(*where, **settings_of(name)) as parts:
        graph, config = graph_of(name, parts), config_of("t")
        for said in SAID[name]:
            out = graph.invoke(given(said), config)
        memory = parts["memory"]
        state = memory.last_state("t")
        return observed(memory, out["ccs"], "t"), render(state), state.branch
