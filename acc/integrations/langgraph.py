"""The memory as a node of a LangGraph graph: `MemoryNode` before the model.

    builder.add_node("memory", MemoryNode(memory))

It commits the messages that no commit has taken, and lets those leave that a compression has read. The model reads
``node.prompt(role)(state)``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Unpack

from langchain_core.messages import BaseMessage, RemoveMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

from acc.board.memory import Controller
from acc.driving import Doing
from acc.errors import AccError, ConfigurationError, InputError
from acc.integrations.agent_memory import AgentMemory
from acc.integrations.channel_update import ChannelValues, Looked, Passed
from acc.integrations.graph_channels import MemoryState as MemoryState
from acc.integrations.graph_channels import (
    OwnState,
    PrivateState,
    Unread,
    declare,
    read,
)
from acc.integrations.messages import as_messages, role_and_rest
from acc.integrations.prompting import with_memory
from acc.integrations.speaking import AgentSettings
from acc.journal import ThreadKey
from acc.state.model import CompressedCognitiveState

MOST_RUNS = 256
"""Runs that are known to have passed. What comes later in a run, the run was not given."""

_PASSED: OrderedDict[tuple[int, ThreadKey], Any] = OrderedDict()


class MemoryNode(AgentMemory, Runnable[Any, Any]):
    """Commits, and leaves for the model what no compression has read.

    Place it before the model and after the tools::

        START -> memory -> model -> tools -> memory

    The model's node reads ``node.prompt(role)(state)``. As the ``pre_model_hook`` of `create_react_agent` it writes
    the prompt to ``output_messages_key``. With
    ``add_conditional_edges("tools", node.due, {True: "memory", False: "model"})`` a loop goes through it only when
    there is something to compress.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        input_messages_key: str = "messages",
        output_messages_key: str | None = None,
        state_key: str = "ccs",
        run_key: str = "ccs_run",
        name: str = "memory",
        role: str = "",
        force: bool = False,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Set up the node.

        Args:
            controller: The memory. A graph that also runs with ``invoke`` needs the synchronous one.
            input_messages_key: Channel of the messages, with LangGraph's reducer.
            output_messages_key: Channel for the prompt: ``llm_input_messages`` in a ``pre_model_hook``. None writes
                none.
            state_key: Channel of the state, as plain JSON.
            run_key: Private channel of the memory's notes.
            name: Name in traces.
            role: The agent's role, in that prompt.
            force: Compress at each pass, whatever the size: before a `Send`, a hand-over, a planning node.
            settings: See `acc.integrations.speaking.AgentSettings`. ``human`` needs the tools in `tool_node`.

        Raises:
            ConfigurationError: The settings contradict each other.
        """
        super().__init__(
            controller, state_key=state_key, run_key=run_key, messages_key=input_messages_key,
            **settings,
        )  # fmt: skip
        self.name = name
        self.role = role
        self.force = force
        self.output_messages_key = output_messages_key
        keys = [input_messages_key, output_messages_key, state_key, run_key]
        if len(set(keys)) < len(keys):
            raise ConfigurationError(
                f"one channel for two things: {', '.join(map(str, keys))}",
                where=f"node {name!r}",
                hint="give each channel a name of its own",
            )
        channels: dict[str, Any] = {
            state_key: Annotated[dict[str, Any], PrivateState],
            run_key: Annotated[dict[str, Any], OwnState],
        }
        messages = {key: list[Any] for key in (input_messages_key, output_messages_key) if key}
        declare(self, {**messages, **channels}, paths=["due"])
        self.is_read = output_messages_key is not None

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> Any:
        """Like `invoke`; LangGraph reads the node's channels from this method's hints."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Commit what is new; return the channel updates.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`, or the run names no thread.
            StateError: The state in its channel was edited.
            ConflictError: Another run of this thread is active.
            PinnedOverflow: Rules and goals exceed their room. The turn was committed: the next run goes on from it.
        """
        given = self._of(input, ensure_config(config))
        return self._left(input, given, self._performed(self._passing(given, force=self.force)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Like `invoke`, without blocking the event loop."""
        given = self._of(input, ensure_config(config))
        passed = await self._awaited(self._passing(given, force=self.force))
        return await self.controller.beside(self._left, input, given, passed)

    def due(self, state: Any) -> bool:
        """Return whether a pass is due in a loop of tool calls: whether what waits is over the memory's limit.

        Without it the messages wait in their channel, and the next pass takes them.
        """
        if self.output_messages_key or self.force:
            return True  # each model call needs a new prompt
        counter, cadence = self.controller.policy.counter, self.controller.cadence
        waiting = sum(counter(str(m.text)) for m in as_messages(self._messages(state)))
        return waiting > cadence.compress_over

    def prompt(self, role: str = "") -> Callable[[Mapping[str, Any]], list[BaseMessage]]:
        """Return a function from state to model prompt, also for ``create_react_agent(prompt=)``.

        The graph's schema must declare the state's channel, as `MemoryState` does, because LangGraph passes only
        declared channels to a node. In an asynchronous graph `aprompt` blocks no event loop.
        """
        self.is_read = True

        def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            return self._prompted(role, state, ensure_config())

        return prompt

    def aprompt(
        self, role: str = ""
    ) -> Callable[[Mapping[str, Any]], Coroutine[Any, Any, list[BaseMessage]]]:
        """Like `prompt`; the function is awaited."""
        self.is_read = True

        async def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
            return await self.controller.beside(self._prompted, role, state, ensure_config())

        return prompt

    def tool_node(self, tools: Sequence[Any], **options: Any) -> ToolNode:
        """Return LangGraph's `ToolNode` with the memory's hook: it knows what a human said to a tool's interrupt, and
        no tool can write what the memory notes.

        ``options``: those of `ToolNode`, but for its hooks.
        """
        self._hook()
        return ToolNode(
            tools, wrap_tool_call=self.wrap_tool_call, awrap_tool_call=self.awrap_tool_call,
            **options,
        )  # fmt: skip

    def loaded(self, state: Any) -> CompressedCognitiveState | None:
        """Return the validated state from its channel; None if there is none.

        Raises:
            StateError: The value is not a state, or it was edited.
        """
        return self._loaded(read(state, self.state_key))

    def keeping(self, state: Any, config: RunnableConfig) -> Doing[Looked]:
        """Keep what is new in the channels without a commit."""
        return self._keeping(partial(self._looking, self._of(state, config)))

    def _of(self, state: Any, config: RunnableConfig) -> ChannelValues:
        if isinstance(read(state, self.state_key), Unread) and not self.is_read:
            raise ConfigurationError(
                f"the model cannot read the memory: the graph's schema has no {self.state_key!r}",
                where=f"node {self.name!r}",
                hint="declare it, StateGraph(MemoryState, input_schema=MessagesState), and have the model read "
                "node.prompt(role)(state) in place of state['messages']",
            )
        self._messages(state)
        given = super()._of(state, config)
        return given._replace(is_same_run=_has_passed(config, given.whose.thread))

    def _messages(self, state: Any) -> Sequence[Any]:
        messages: Sequence[Any] = read(state, self.input_messages_key) or ()
        if any(isinstance(message, RemoveMessage) for message in messages):
            raise ConfigurationError(
                f"the channel {self.input_messages_key!r} has no reducer that removes messages",
                where="the graph's state schema",
                hint="declare it as MemoryState does, messages: Annotated[list[AnyMessage], add_messages], "
                "and begin a new thread",
            )
        if not messages and not read(state, self.state_key):
            raise InputError(
                f"no user message: the channel {self.input_messages_key!r} is empty",
                where=f"node {self.name!r}",
                hint="pass the user's message in it, or name the channel that has it: "
                "MemoryNode(..., input_messages_key=...)",
            )
        return messages

    def _prompted(
        self, role: str, state: Mapping[str, Any], config: RunnableConfig
    ) -> list[BaseMessage]:
        """Return role, state and messages, as the model reads them; a shadow shows no state."""
        for key in (self.input_messages_key, *(() if self.is_shadow else (self.state_key,))):
            if read(state, key) is None:
                raise ConfigurationError(
                    f"nothing in {key!r}, from which the prompt is made",
                    where=f"node {self.name!r}",
                    hint=f"declare {key} in the schema of the graph, and lead to the model through the memory's node",
                )
        given = self._of(state, config)
        own, messages = role_and_rest(as_messages(given.messages))
        memory = ""
        if not self.is_shadow:
            memory, messages = self._told(given, messages)
        system = None
        for part in filter(None, (role, *(str(m.text) for m in own), memory)):
            system = with_memory(system, part)
        return [*([system] if system is not None else []), *messages]

    def _left(self, state: Any, given: ChannelValues, passed: Passed | None) -> dict[str, Any]:
        update = self._update(passed)
        if passed is not None:
            _note_passed(given.config, passed.looked.thread)
        if self.output_messages_key:
            key = self.input_messages_key
            held = {each: read(state, each) for each in (self.state_key, self.run_key)}
            messages = add_messages(list(given.messages), update.get(key, []))
            shown = self._prompted(self.role, {**held, **update, key: messages}, given.config)
            # Not message objects: LangGraph would show the system's in the user's message stream.
            update[self.output_messages_key] = [_plain(message) for message in shown]
        return update


def _plain(message: BaseMessage) -> Any:
    is_system = isinstance(message, SystemMessage)
    return {"role": "system", "content": message.content} if is_system else message


def _control(config: Mapping[str, Any]) -> Any:
    """Return what one run of a graph has of its own, from LangGraph's runtime; None if it has nothing."""
    runtime = (config.get("configurable") or {}).get("__pregel_runtime")
    return getattr(runtime, "control", None)


def _has_passed(config: Mapping[str, Any], thread: ThreadKey) -> bool:
    control = _control(config)
    return control is not None and _PASSED.get((id(control), thread)) is control


def _note_passed(config: Mapping[str, Any], thread: ThreadKey) -> None:
    control = _control(config)
    _PASSED[id(control), thread] = control
    while len(_PASSED) > MOST_RUNS:
        _PASSED.popitem(last=False)


def worth_retrying(error: BaseException) -> bool:
    """Select errors for ``RetryPolicy(retry_on=worth_retrying)`` on a memory's node.

    LangGraph's default also retries permanent errors, such as rules that do not fit.
    """
    return isinstance(error, AccError) and error.retryable
