"""The memory as nodes of a LangGraph graph: `MemoryNode` in front of the model.

    builder.add_node("memory", MemoryNode(memory))

It commits what no commit has seen, and leaves the current turn whole. See `MemoryNode` for
what a graph looks like around it, `acc.integrations.subgraph` for one inside another graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.errors import ConfigurationError, InputError
from acc.integrations.compaction import AGENT, Compaction, Past, Plan
from acc.integrations.graph_channels import (
    Unread,
    check_messages,
    declare,
    needed,
    read,
    state_channels,
)
from acc.integrations.identity import UNKNOWN, Identify, Identity, owner
from acc.integrations.messages import Voices, as_messages, pruned, role_and_rest
from acc.integrations.past import (
    brought_back,
    by_evidence,
    is_missing,
    joined,
    past_of,
    state_behind,
    texts,
)
from acc.integrations.stepping import (
    COMMITTED,
    Controller,
    HeldStates,
    astepped,
    check_controller,
    hash_of,
    last_committed,
    stepped,
    tell,
)
from acc.operators import with_operator_acts
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Trust


class _Looked(NamedTuple):
    """What a node found before it does anything."""

    thread: Thread
    prior: CompressedCognitiveState | None
    plan: Plan


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """Commits, and leaves the model its role, the state and the current turn.

    In front of the model, on the way from the tools too, so that long tool loops are folded::

        START -> memory -> model -> tools -> memory

    where ``add_conditional_edges("tools", node.due, {True: "memory", False: "model"})`` saves
    the passes that would change nothing; or as the ``pre_model_hook`` of `create_react_agent`. The model node reads
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
        speakers: Collection[str] | None = None,
        human: Channel | str = Channel.USER,
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
            channels: Channel by tool name, where a tool is no more than a document, or where a
                tool returns what a human answered (``{"ask": Channel.USER}``).
            speakers: Names of the people whose messages are the user's; other names are
                documents. None for every name.
            human: Channel of what a human says who reviews a call (`HumanInTheLoopMiddleware`) or
                answers an interrupt.
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
        check_controller(controller)
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
        voices = replace(Voices.of(channels, speakers, human), redact=controller.redact)
        self.compaction = Compaction(voices, fold_over, counter, reply_chars)
        self.held = HeldStates(controller.settings.policy, adopt)
        self._check()
        keys = (input_messages_key, output_messages_key)
        typed: dict[str, Any] = {key: list[Any] for key in keys if key}
        declare(self, typed | state_channels(state_key, turn_key), paths=["due"])
        self.is_read = output_messages_key is not None

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> dict[str, Any]:
        """As `invoke`; LangGraph reads off it which channels the node needs."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Commit what is due; returns what changes in the channels.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`, or the run names no thread.
            StateError: The state in its channel was edited, and ``adopt`` is None.
            ConflictError: Another run of this thread is under way.
            PinnedOverflow: Rules and goals alone exceed the bounds.
        """
        looked = self._look(input, ensure_config(config))
        steps = stepped(self.controller, looked.prior, looked.plan.turns, looked.thread, config)
        return self._update(input, looked, steps)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """As `invoke`; nothing blocks the event loop."""
        looked = await asyncio.to_thread(self._look, input, ensure_config(config))
        steps = await astepped(
            self.controller, looked.prior, looked.plan.turns, looked.thread, config
        )
        return self._update(input, looked, steps)

    def due(self, state: Any) -> bool:
        """Whether a pass would change anything: the condition of an edge that leads past the node.

        Raises:
            InputError: No user message, or one that cannot be read.
        """
        if self.output_messages_key:
            return True  # the view is made anew for each call of the model
        messages, mark = self._messages(state), read(state, self.turn_key)
        if is_missing(mark, messages):
            return True
        begun = bool(read(state, self.state_key))
        plan = self.compaction.plan(messages, mark, Past(begun=begun))
        return bool(plan.turns or pruned(messages, [*plan.role, *plan.kept]))

    def prompt(self, role: str = "") -> Callable[[Mapping[str, Any]], list[BaseMessage]]:
        """What makes the model's prompt of the graph's state: also ``create_react_agent(prompt=)``.

        The graph's schema must declare the state's channel, as `MemoryState` does: LangGraph
        hands a node only what its schema names.
        """
        self.is_read = True

        def there(channel: str, value: Any) -> Any:
            return needed(channel, value, where=self.name, what="from which the prompt is made")

        def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            shown = self.output_messages_key or self.input_messages_key
            found = as_messages(there(shown, read(state, shown)))
            check_messages(found, shown)
            ccs = there(self.state_key, self.loaded(state))
            own, turn = role_and_rest(found)
            carried = [] if self.output_messages_key else [self.held.rendered(ccs)]
            return [SystemMessage(joined(role, *texts(own), *carried)), *turn]

        return prompt

    def loaded(self, state: Any) -> CompressedCognitiveState | None:
        """The state in its channel: validated, unedited or adopted; None where there is none yet.

        Raises:
            StateError: It is none, or was edited and ``adopt`` is None.
        """
        return self.held.load(read(state, self.state_key) or None, read(state, self.turn_key))

    def thread(self, config: RunnableConfig | None, state: Any = None) -> Thread:
        """Whose thread a run works on.

        Args:
            config: The run's.
            state: The graph's state, which tells a run inside another graph from others.
        """
        mark, raw = read(state, self.turn_key), read(state, self.state_key)
        return owner(
            ensure_config(config),
            self.identity,
            agent=mark.get(AGENT) if isinstance(mark, Mapping) else None,
            messages=as_messages(self._messages(state)) if state is not None else (),
            bound_to=str(raw.get("bound_to") or "") if isinstance(raw, Mapping) else "",
        )

    def _look(self, state: Any, config: RunnableConfig) -> _Looked:
        thread = self.thread(config, state)
        messages, mark = self._messages(state), read(state, self.turn_key)
        raw = read(state, self.state_key) or None
        self._check_read(raw)
        committed = last_committed(self.controller, thread)
        prior = self.held.load(raw, mark, committed=committed)
        if prior is None:
            prior = self._resumed(thread, messages, mark)
        self.held.check_left(prior, mark)
        if prior is not None:
            prior = with_operator_acts(self.controller, prior, thread)
        if prior is not None and is_missing(mark, messages):
            mark = brought_back(mark, self.controller, thread, prior)
        past = past_of(self.controller, thread, prior)
        return _Looked(thread, prior, self.compaction.plan(messages, mark, past))

    def _resumed(self, thread: Thread, messages: Any, mark: Any) -> CompressedCognitiveState | None:
        """The state to go on from where the channel has none."""
        found = None
        if mark is None:
            found = state_behind(self.controller, self.held, thread, messages, resume=self.resume)
        return self._last_state(thread) if found is None and self.resume else found

    def _last_state(self, thread: Thread) -> CompressedCognitiveState | None:
        return self.controller.last_state(thread)

    def _messages(self, state: Any) -> Any:
        messages = read(state, self.input_messages_key) or ()
        check_messages(messages, self.input_messages_key)
        if not messages and read(state, self.turn_key) is None:
            raise InputError(
                f"no user message: the channel {self.input_messages_key!r} is empty",
                where=f"node {self.name!r}",
                hint="pass the user's message in it, or name the channel that has it: "
                "MemoryNode(..., input_messages_key=...)",
            )
        return messages

    def _check_read(self, raw: Any) -> None:
        """See that the graph's nodes can read the state, once there is one.

        Raises:
            ConfigurationError: The graph's schema lacks it, and no prompt is made of it: the model
                would forget every turn but the current one.
        """
        if isinstance(raw, Unread) and not self.is_read:
            raise ConfigurationError(
                f"the model cannot read the memory: the graph's schema has no {self.state_key!r}",
                where=f"node {self.name!r}",
                hint="declare it, StateGraph(MemoryState, input_schema=MessagesState), and have the "
                "model read node.prompt(role)(state) in place of state['messages']",
            )

    def _update(self, state: Any, looked: _Looked, steps: Sequence[Step]) -> dict[str, Any]:
        """What changes in the channels."""
        plan, last = looked.plan, steps[-1] if steps else None
        after = last.state if last is not None else looked.prior
        update: dict[str, Any] = {}
        before = read(state, self.turn_key)
        mark = by_evidence(plan, last.turn if last is not None else None, before)
        if looked.thread.agent != UNKNOWN:
            mark = {**mark, AGENT: looked.thread.agent}
        if after is not None:
            mark = {**mark, COMMITTED: after.hash}
            if hash_of(read(state, self.state_key)) != after.hash:
                commit = last.commit if last is not None else None
                update[self.state_key] = self.held.canonical(after, commit)
        if mark != before:
            update[self.turn_key] = mark
        if self.prune and (changed := pruned(self._messages(state), [*plan.role, *plan.kept])):
            update[self.input_messages_key] = changed
        if self.output_messages_key and after is not None:
            spoken = joined(self.role, *texts(plan.role), self.held.rendered(after))
            # No message object: LangGraph would show it in the user's stream of messages.
            update[self.output_messages_key] = [{"role": "system", "content": spoken}, *plan.kept]
        for step in steps:
            tell(step, self.controller.settings.policy)
        return update

    def _check(self) -> None:
        where = f"node {self.name!r}"
        if not (self.prune or self.output_messages_key):
            raise ConfigurationError(
                "nothing bounds what the model reads",
                where=where,
                hint="let the messages be pruned, or name an output_messages_key for the view",
            )
        keys = [self.input_messages_key, self.output_messages_key, self.state_key, self.turn_key]
        if len(set(keys)) < len(keys):
            raise ConfigurationError(
                f"one channel for two things: {', '.join(map(str, keys))}",
                where=where,
                hint="leave output_messages_key out to have the messages themselves pruned",
            )
