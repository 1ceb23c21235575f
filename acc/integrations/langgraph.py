"""The memory as nodes of a LangGraph graph: `MemoryNode` in front of the model.

    builder.add_node("memory", MemoryNode(memory))

It commits what no commit has seen, and leaves the current turn whole. See `MemoryNode` for
what a graph looks like around it, `acc.integrations.subgraph` for one inside another graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.errors import ConfigurationError
from acc.integrations.folding import Fold, Folding
from acc.integrations.graph_channels import declare, read
from acc.integrations.identity import Identify, Identity, thread_of
from acc.integrations.messages import as_messages, replacing, role_and_rest
from acc.integrations.progress import tell
from acc.integrations.stepping import Controller, astepped, stepped
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Channel, Trust

Value = TypeVar("Value")


class _Looked(NamedTuple):
    """What a node found before it does anything."""

    thread: Thread
    prior: CompressedCognitiveState | None
    fold: Fold


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """Commits, and leaves the model its role, the state and the current turn.

    In front of the model, on the way from the tools too, so that long tool loops are folded::

        START -> memory -> model -> tools -> memory

    or as the ``pre_model_hook`` of `create_react_agent`. The model node reads
    ``node.prompt(role)(state)``, or ``output_messages_key``.

    By default earlier turns are taken out of the channel. With ``prune=False`` it stays as it
    is, and ``output_messages_key`` gets the bounded view: role and state, then the turn.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        input_messages_key: str = "messages",
        output_messages_key: str | None = None,
        state_key: str = "ccs",
        turn_key: str = "ccs_turn",
        name: str = "memory",
        prune: bool = True,
        role: str = "",
        channels: Mapping[str, Channel] | None = None,
        fold_over: int | None = 2_000,
        reply_chars: int = 2_000,
        identity: Identify | None = None,
        adopt: Trust | None = None,
        resume: bool = False,
    ) -> None:
        """Set up the node.

        Args:
            controller: The memory. A graph that is also run with ``invoke`` needs the sync one,
                which async graphs run in a thread.
            input_messages_key: Channel of the messages, with LangGraph's reducer.
            output_messages_key: Channel for what the model reads; ``llm_input_messages`` in a
                ``pre_model_hook``. None writes none.
            state_key: Channel of the state, as plain JSON.
            turn_key: Channel of the mark that says how far the commits have come.
            name: Name in traces.
            prune: Take out of the messages what is committed.
            role: The agent's role, in front of the state in the view.
            channels: Channel by tool name, where a tool is no more than a document.
            fold_over: Tokens of steps that the model has read before they are committed within
                the user's turn; 0 commits after each step, None waits for the next turn.
            reply_chars: Characters of the agent's last reply that open the turn, so that "yes,
                send it" has something to refer to; 0 for a model that must be addressed first.
            identity: Tells whose thread it is; `Identity()` by default.
            adopt: Trust at which a hand-edited state is accepted; None makes it an error.
            resume: Where the graph has no state, go on from the thread's last one by the audit
                log; for callers that keep no checkpoints and pass the whole transcript.

        Raises:
            ConfigurationError: The settings do not fit together.
        """
        self.controller = controller
        self.name = name
        self.prune = prune
        self.role = role
        self.adopt = adopt
        self.resume = resume
        self.input_messages_key = input_messages_key
        self.output_messages_key = output_messages_key
        self.state_key = state_key
        self.turn_key = turn_key
        self.identity = identity or Identity()
        counter = controller.settings.policy.counter
        self.folding = Folding(channels or {}, fold_over, counter, reply_chars)
        self._check()
        keys = (input_messages_key, output_messages_key)
        typed = {key: list[Any] for key in keys if key}
        declare(self, typed | {state_key: dict[str, Any], turn_key: dict[str, Any]})

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> dict[str, Any]:
        """As `invoke`; LangGraph reads off it which channels the node needs."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Commit what is due; returns the update of the channels.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`, or the run names no thread.
            StateError: The state in its channel was edited, and ``adopt`` is None.
            ConflictError: Another run of this thread is under way.
            PinnedOverflow: Rules and goals alone exceed the bounds.
        """
        looked = self._look(input, ensure_config(config))
        step = None
        if looked.fold.turn is not None:
            step = stepped(self.controller, looked.prior, looked.fold.turn, looked.thread, config)
        return self._update(input, looked, step)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """As `invoke`; nothing blocks the event loop."""
        looked = await asyncio.to_thread(self._look, input, ensure_config(config))
        step = None
        if looked.fold.turn is not None:
            step = await astepped(
                self.controller, looked.prior, looked.fold.turn, looked.thread, config
            )
        return self._update(input, looked, step)

    def prompt(self, role: str = "") -> Callable[[Mapping[str, Any]], list[BaseMessage]]:
        """What makes the model's prompt of the graph's state: also ``create_react_agent(prompt=)``.

        The graph's schema must declare the state's channel, as `MemoryState` does: LangGraph
        hands a node only what its schema names.
        """

        def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            shown = self.output_messages_key or self.input_messages_key
            found = as_messages(self._there(shown, read(state, shown)))
            ccs = self._there(self.state_key, self.loaded(state))
            own, turn = role_and_rest(found)
            spoken = [role, *(str(m.text) for m in own)]
            if self.output_messages_key is None:
                spoken.append(self.controller.settings.policy.rendered(ccs))
            return [SystemMessage(_joined(spoken)), *turn]

        return prompt

    def loaded(self, state: Any) -> CompressedCognitiveState | None:
        """The state in its channel: validated, unedited or adopted; None where there is none yet.

        Raises:
            StateError: It is none, or was edited and ``adopt`` is None.
        """
        raw = read(state, self.state_key)
        schema = self.controller.settings.policy.schema
        return None if raw is None else schema.load(raw, adopt=self.adopt)

    def thread(self, config: RunnableConfig | None) -> Thread:
        """Whose thread a run works on."""
        return thread_of(ensure_config(config), self.identity)

    def _there(self, channel: str, value: Value | None) -> Value:
        if value is not None:
            return value
        raise ConfigurationError(
            f"nothing in {channel!r}, from which the prompt is made",
            where=f"node {self.name!r}",
            mend=f"declare {channel} in the schema of the graph, and lead to the model through "
            "the memory's node",
        )

    def _look(self, state: Any, config: RunnableConfig) -> _Looked:
        thread = self.thread(config)
        prior = self.loaded(state)
        if prior is None and self.resume:
            prior = self.controller.last_state(thread)
        messages = read(state, self.input_messages_key) or ()
        mark = read(state, self.turn_key)
        return _Looked(thread, prior, self.folding.look(messages, mark, begun=prior is not None))

    def _update(self, state: Any, looked: _Looked, step: Step | None) -> dict[str, Any]:
        """What changes in the channels."""
        policy = self.controller.settings.policy
        fold = looked.fold
        after = step.state if step is not None else looked.prior
        update: dict[str, Any] = {self.turn_key: fold.mark}
        if after is not None:
            update[self.state_key] = after.canonical()
        if self.prune:
            kept = [*fold.role, *fold.kept]
            if kept != read(state, self.input_messages_key):
                update[self.input_messages_key] = replacing(kept)
        if self.output_messages_key and after is not None:
            spoken = [self.role, *(str(m.text) for m in fold.role), policy.rendered(after)]
            # No message object: LangGraph would show it in the user's stream of messages.
            opening = {"role": "system", "content": _joined(spoken)}
            update[self.output_messages_key] = [opening, *fold.kept]
        if step is not None:
            tell(step, policy)
        return update

    def _check(self) -> None:
        where = f"node {self.name!r}"
        if not (self.prune or self.output_messages_key):
            raise ConfigurationError(
                "nothing bounds what the model reads",
                where=where,
                mend="let the messages be pruned, or name an output_messages_key for the view",
            )
        keys = [self.input_messages_key, self.output_messages_key, self.state_key, self.turn_key]
        if len(set(keys)) < len(keys):
            raise ConfigurationError(
                f"one channel for two things: {', '.join(map(str, keys))}",
                where=where,
                mend="leave output_messages_key out to have the messages themselves pruned",
            )


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)
