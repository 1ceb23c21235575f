"""The memory as nodes of a LangGraph graph: `MemoryNode` before the model.

    builder.add_node("memory", MemoryNode(memory))

It commits messages that no commit has seen, and leaves the current turn whole. `MemoryNode`
describes the surrounding graph; `acc.integrations.subgraph` a memory inside another graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.types import Command

from acc.board import Board
from acc.errors import ConfigurationError, InputError
from acc.integrations.agent_memory import AgentMemory
from acc.integrations.compaction import AGENT, Compaction, Past, Plan
from acc.integrations.delegation import caller
from acc.integrations.graph_channels import MemoryState as MemoryState
from acc.integrations.graph_channels import (
    Unread,
    bound_to,
    check_messages,
    declare,
    needed,
    read,
    state_channels,
)
from acc.integrations.identity import UNKNOWN, Identify, enclosing_nodes, owner
from acc.integrations.messages import Voices, as_messages, pruned, role_and_rest
from acc.integrations.past import joined, lacks_content, past_of, texts, with_content, with_refs
from acc.integrations.sharing import Share, Shared
from acc.integrations.stepping import COMMITTED, Controller, astepped, stepped
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Trust


class _Looked(NamedTuple):
    """What a node finds before it changes anything."""

    thread: Thread
    prior: CompressedCognitiveState | None
    plan: Plan
    is_handed_down: bool = False
    shared: Shared | None = None

    @property
    def board(self) -> Board | None:
        """The board that the step writes."""
        return self.shared.board if self.shared is not None else None


def _continues(progress: Any, messages: Sequence[BaseMessage]) -> bool:
    """Return whether ``messages`` go on after ``progress``, and are not a conversation of their own."""
    if not isinstance(progress, Mapping):
        return False
    ids = {m.id for m in messages}
    begins = any(isinstance(m, HumanMessage) for m in messages)
    return not begins or bool(ids & {progress.get("id"), progress.get("through")})


class MemoryNodeOptions(TypedDict, total=False):
    """The keyword arguments of `MemoryNode`, for the nodes built on it."""

    input_messages_key: str
    output_messages_key: str | None
    state_key: str
    turn_key: str
    name: str
    prune: bool
    role: str
    channels: Mapping[str, Channel] | None
    speakers: Collection[str] | None
    human: Channel | str
    fold_over: int | None
    reply_chars: int
    identity: Identify | None
    adopt: Trust | None
    resume: bool
    tell_time: bool
    share: Share | Board | None


class MemoryNode(AgentMemory, Runnable[Any, Any]):
    """Commits, and leaves the role, the state and the current turn for the model.

    Place it before the model and after the tools, to fold long tool loops::

        START -> memory -> model -> tools -> memory

    To skip passes that change nothing, use
    ``add_conditional_edges("tools", node.due, {True: "memory", False: "model"})``. The node can
    also be the ``pre_model_hook`` of `create_react_agent`. The model node reads
    ``node.prompt(role)(state)``, or ``output_messages_key``.

    By default the node removes earlier turns from the channel. With ``prune=False`` the channel
    stays unchanged, and ``output_messages_key`` receives the bounded view: role, state, turn.
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
        tell_time: bool = False,
        share: Share | Board | None = None,
    ) -> None:
        """Set up the node.

        Args:
            controller: The memory. A graph that also runs with ``invoke`` needs the synchronous
                controller; asynchronous graphs run it in a thread.
            input_messages_key: Channel of the messages, with LangGraph's reducer.
            output_messages_key: Channel for the model's view; ``llm_input_messages`` in a
                ``pre_model_hook``. None writes no view.
            state_key: Channel of the state, as plain JSON.
            turn_key: Channel of the commit progress.
            name: Name in traces.
            prune: Remove committed messages from the channel.
            role: The agent's role, before the state in the view.
            channels: Channel by tool name; a tool is a document by default. Set it for a tool
                that returns a human's answer (``{"ask": Channel.USER}``).
            speakers: Names of people who speak as the user; other names are documents. None
                accepts every name.
            human: Channel of a human who reviews a call (`HumanInTheLoopMiddleware`) or answers an
                interrupt.
            fold_over: Limit, in tokens, of steps that the model has read before a commit within the
                user's turn; 0 commits after each step, None waits for the next turn.
            reply_chars: Characters of the agent's last reply placed before the turn. They resolve
                references such as "yes, send it". Use 0 if the model needs a user message first.
            identity: Finds the thread of a run; `Identity()` by default.
            adopt: Trust for an edited state; None makes an edit an error.
            resume: If the graph has no state, continue from the thread's last state in the audit
                log. For callers without checkpoints that pass the whole transcript.
            tell_time: The model reads the time of the controller's clock after the state.
            share: What the agents of a conversation share on a board: "rules", "rules and goals",
                "all", "all and measurements", or a `Board` of your own. None keeps the memory to this agent.

        Raises:
            ConfigurationError: The settings contradict each other.
        """
        super().__init__(
            controller, Voices.of(channels, speakers, human), identity=identity,
            fold_over=fold_over, reply_chars=reply_chars, adopt=adopt, resume=resume,
            tell_time=tell_time, share=share,
        )  # fmt: skip
        self.name = name
        self.prune = prune
        self.role = role
        self.input_messages_key = input_messages_key
        self.output_messages_key = output_messages_key
        self.state_key = state_key
        self.turn_key = turn_key
        self._check()
        keys = (input_messages_key, output_messages_key)
        typed: dict[str, Any] = {key: list[Any] for key in keys if key}
        declare(self, typed | state_channels(state_key, turn_key), paths=["due"])
        self.is_read = output_messages_key is not None

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> Any:
        """Like `invoke`; LangGraph reads the node's channels from this method's hints."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Commit due turns; return the channel updates.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`, or the run names no thread.
            StateError: The state in its channel was edited, and ``adopt`` is None.
            ConflictError: Another run of this thread is active.
            PinnedOverflow: Rules and goals alone exceed the limits.
        """
        looked = self._look(input, ensure_config(config))
        plan, board = looked.plan, looked.board
        steps = stepped(self.controller, looked.prior, plan.turns, looked.thread, config, board)
        return self._update(input, looked, steps, self._view(looked, steps))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Like `invoke`, without blocking the event loop."""
        looked = await self._alook(input, ensure_config(config))
        plan, board = looked.plan, looked.board
        steps = await astepped(
            self.controller, looked.prior, plan.turns, looked.thread, config, board
        )
        view = await self.controller._beside(looked.thread, self._view, looked, steps)
        return self._update(input, looked, steps, view)

    def due(self, state: Any) -> bool:
        """Return whether a pass would change anything: the condition of an edge around the node.

        Raises:
            InputError: There is no user message, or a message cannot be read.
        """
        if self.output_messages_key:
            return True  # each model call needs a new view
        messages, progress = self._messages(state), read(state, self.turn_key)
        if lacks_content(progress, messages):
            return True
        begun = bool(read(state, self.state_key))
        plan = self.hearing(state).plan(messages, progress, Past(begun=begun))
        return bool(plan.turns or pruned(messages, [*plan.role, *plan.kept]))

    def prompt(self, role: str = "") -> Callable[[Mapping[str, Any]], list[BaseMessage]]:
        """Return a function from state to model prompt, also for ``create_react_agent(prompt=)``.

        The graph's schema must declare the state's channel, as `MemoryState` does, because
        LangGraph passes only declared channels to a node. With ``share=`` the function reads the board: in an
        asynchronous graph use `aprompt`.
        """
        self.is_read = True

        def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            return self._prompted(role, state)

        return prompt

    def aprompt(
        self, role: str = ""
    ) -> Callable[[Mapping[str, Any]], Coroutine[Any, Any, list[BaseMessage]]]:
        """Like `prompt`; the function is awaited, and reads the board without blocking the event loop."""
        self.is_read = True

        async def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            if self.sharing is None:
                return self._prompted(role, state)
            thread = self.thread(None, state)
            return await self.controller._beside(thread, self._prompted, role, state)

        return prompt

    def _prompted(self, role: str, state: Mapping[str, Any]) -> list[BaseMessage]:
        def there(channel: str, value: Any) -> Any:
            return needed(channel, value, where=self.name, what="from which the prompt is made")

        shown = self.output_messages_key or self.input_messages_key
        found = as_messages(there(shown, read(state, shown)))
        check_messages(found, shown)
        ccs = there(self.state_key, self.loaded(state))
        own, turn = role_and_rest(found)
        carried = "" if self.output_messages_key else self._rendered(ccs, self._board(state))
        return [SystemMessage(joined(role, *texts(own), carried)), *turn]

    def loaded(self, state: Any) -> CompressedCognitiveState | None:
        """Return the validated state from its channel, unedited or adopted; None if there is none.

        Raises:
            StateError: The value is not a state, or it was edited and ``adopt`` is None.
        """
        return self.held.load(read(state, self.state_key) or None, read(state, self.turn_key))

    def thread(self, config: RunnableConfig | None, state: Any = None) -> Thread:
        """Return the thread of a run.

        Args:
            config: The run's configuration.
            state: The graph's state, which identifies a run inside another graph.
        """
        return self._own(ensure_config(config), state)[0]

    def shared(self, state: Any) -> str:
        """Return what the board says, for the prompt of an agent without the memory; may be empty.

        Call it in a node of the graph. What a `Send` or a subgraph hands on can carry it.

        Raises:
            StoreError: The store cannot be read.
        """
        shared = self._board(state)
        return shared.for_task().lstrip() if shared is not None else ""

    async def ashared(self, state: Any) -> str:
        """Like `shared`, without blocking the event loop."""
        return await self.controller._beside(self.thread(None, state), self.shared, state)

    def _board(self, state: Any) -> Shared | None:
        """Return the board of the present run; None if the agent shares none."""
        config = ensure_config()
        return self._shared(config, self.thread(config, state)) if self.sharing else None

    def hearing(self, state: Any) -> Compaction:
        """Return the settings for splitting the messages of the agent whose ``state`` it is."""
        progress = read(state, self.turn_key)
        agent = progress.get(AGENT) if isinstance(progress, Mapping) else None
        return self.compaction.heard_by(agent or UNKNOWN)

    def _own(self, config: RunnableConfig, state: Any) -> tuple[Thread, Any, Any]:
        """Return the run's thread, state and progress; no state that a parent graph handed down."""
        progress, raw = read(state, self.turn_key), read(state, self.state_key) or None
        messages = as_messages(self._messages(state)) if state is not None else ()
        bound = bound_to(raw)
        if enclosing_nodes(config) and not _continues(progress, messages):
            thread = owner(config, self.identity, agent=None, messages=messages)
            if bound not in ("", thread.owner_key):
                return thread, None, None
        agent = progress.get(AGENT) if isinstance(progress, Mapping) else None
        found = owner(config, self.identity, agent=agent, messages=messages, bound_to=bound)
        return found, raw, progress

    def _look(self, state: Any, config: RunnableConfig) -> _Looked:
        thread, raw, progress = self._own(config, state)
        handed_down = raw is None and bool(read(state, self.state_key))
        messages, compaction = self._messages(state), self.compaction.heard_by(thread.agent)
        shared = self._shared(config, thread)
        if caller() is not None or enclosing_nodes(config):
            messages = self._marked(config, as_messages(messages), compaction.voices, shared)
        self._check_read(raw)
        prior = self._prior(raw, progress, thread, messages, self.state_key)
        if prior is not None and lacks_content(progress, messages):
            progress = with_content(progress, self.controller, thread, prior)
        past = past_of(self.controller, thread, prior)
        return _Looked(
            thread, prior, compaction.plan(messages, progress, past), handed_down, shared
        )

    async def _alook(self, state: Any, config: RunnableConfig) -> _Looked:
        thread = self.thread(config, state)
        return await self.controller._beside(thread, self._look, state, config)

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
        """Check that the graph's nodes can read the state, once there is one.

        Raises:
            ConfigurationError: The graph's schema lacks the state, and no prompt uses it. The model
                would forget every turn but the current one.
        """
        if isinstance(raw, Unread) and not self.is_read:
            raise ConfigurationError(
                f"the model cannot read the memory: the graph's schema has no {self.state_key!r}",
                where=f"node {self.name!r}",
                hint="declare it, StateGraph(MemoryState, input_schema=MessagesState), and have the "
                "model read node.prompt(role)(state) in place of state['messages']",
            )

    def _view(self, looked: _Looked, steps: Sequence[Step]) -> str:
        """Return what the model reads of the memory in the view; empty without a view or a state."""
        after = steps[-1].state if steps else looked.prior
        if after is None or not self.output_messages_key:
            return ""
        return self._rendered(after, looked.shared)

    def _update(self, state: Any, looked: _Looked, steps: Sequence[Step], view: str) -> Any:
        """Return the channel updates, with the memory as the model reads it in the ``view``."""
        plan, last = looked.plan, steps[-1] if steps else None
        after = last.state if last is not None else looked.prior
        update: dict[str, Any] = {}
        own = None if looked.is_handed_down else state
        before = read(own, self.turn_key)
        progress = with_refs(plan, last.turn if last is not None else None, before)
        if looked.thread.agent != UNKNOWN:
            progress = {**progress, AGENT: looked.thread.agent}
        if after is not None:
            progress = {**progress, COMMITTED: after.hash}
        if (news := self._news(read(own, self.state_key), after, steps)) is not None:
            update[self.state_key] = news
        if progress != before:
            update[self.turn_key] = progress
        if self.prune and (changed := pruned(self._messages(state), [*plan.role, *plan.kept])):
            update[self.input_messages_key] = changed
        if self.output_messages_key and after is not None:
            spoken = joined(self.role, *texts(plan.role), view)
            # Not a message object: LangGraph would show it in the user's message stream.
            update[self.output_messages_key] = [{"role": "system", "content": spoken}, *plan.kept]
        self._tell(steps)
        if looked.is_handed_down:
            # The parent's state leaves the channels first: they refuse to replace it by another's.
            return [Command(update={self.state_key: None, self.turn_key: None}), update]
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
