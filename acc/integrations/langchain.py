"""The memory as a middleware of `langchain.agents.create_agent`; this line is the whole set-up:

    agent = create_agent(model, tools, checkpointer=saver, middleware=[MemoryMiddleware("openai:NAME")])

The model reads role, state, and the messages since the last compression. List the middleware after guards, and after
what redacts messages or writes prompts.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NotRequired, Unpack

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.config import get_config
from langgraph.runtime import Runtime

from acc.board.memory import Controller
from acc.controller.controller import MemoryController
from acc.driving import Doing
from acc.errors import ConfigurationError, extra
from acc.folders import expanded
from acc.integrations.agent_memory import AgentMemory
from acc.integrations.channel_update import ChannelValues, Looked, Passed
from acc.integrations.graph_channels import OwnState
from acc.integrations.identity import Identify, owner
from acc.integrations.messages import as_messages, is_summary, role_and_rest
from acc.integrations.notes import Notes
from acc.integrations.prompting import LEGEND, with_memory
from acc.integrations.speaking import AgentSettings
from acc.journal.opened import is_url
from acc.state.render import render
from acc.turn.observations import Channel

with extra("langchain", "langchain cannot be imported: {error}", where="MemoryMiddleware"):
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
    )


PLACES = "_summarization_event"
"""Where deepagents' summariser keeps up to which place its summary reaches. Once messages leave, the place is wrong."""


_OPEN: dict[tuple[Path | str, str], MemoryController[Any]] = {}
_GUARD = threading.Lock()


def opened(memory: Controller | str, folder: str | Path | None) -> Controller:
    """Return a memory, or open the one whose model is named; agents of a process share one of the same folder."""
    if not isinstance(memory, str):
        if folder is not None:
            raise ConfigurationError(
                "a folder beside a memory that is open",
                where="folder",
                hint='give a folder with a model\'s name: MemoryMiddleware("openai:NAME", folder=...)',
            )
        return memory
    named = folder or "memory"
    where = str(named) if is_url(named) else expanded(named).absolute()
    with _GUARD:
        held = _OPEN.get((where, memory))
        if held is None:
            model = None if memory == "keyless" else memory
            held = _OPEN[where, memory] = MemoryController.open(where, model=model)
        return held


class MemoryAgentState(AgentState[Any]):
    """The agent's own channels, the state as plain JSON, and the memory's notes.

    Callers read ``ccs`` in the result. The input of an invocation cannot set either channel.
    """

    ccs: NotRequired[Annotated[dict[str, Any], OmitFromInput, OwnState]]
    ccs_run: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, OwnState]]


class MemoryMiddleware(AgentMemory, AgentMiddleware[Any, Any, Any]):
    """Commits what is new before each model call, and shows the model state and messages.

    Messages that a compression has read leave the channel.
    """

    state_schema = MemoryAgentState

    def __init__(
        self,
        controller: Controller | str,
        *,
        folder: str | Path | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        """Set up the middleware.

        Args:
            controller: The memory; or the name of a model that compresses (``openai:NAME``), or ``"keyless"`` for
                the rules without a model: then the middleware opens the memory. An `AsyncMemoryController` only for
                an agent that always runs asynchronously.
            folder: Folder of a memory that the middleware opens; ``memory`` in the working folder by default.
            settings: See `acc.integrations.speaking.AgentSettings`.

        Raises:
            ConfigurationError: ``controller`` is neither a memory nor a name, or the settings contradict each other.
        """
        super().__init__(opened(controller, folder), **settings)
        self._hook()
        self.tools = []

    @property
    def name(self) -> str:
        """Its name in the graph. deepagents has a `MemoryMiddleware`, too, and drops it for another of its name."""
        return "AccMemory"

    def before_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> Any:
        """Note the agent's input messages; LangChain does not repeat this hook on resume."""
        return self._performed(self._entering(self._of(state, get_config())))

    async def abefore_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> Any:
        """Like `before_agent`, without blocking the event loop."""
        return await self._awaited(self._entering(self._of(state, get_config())))

    def before_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Commit what is new, and let leave what a compression has read.

        Raises:
            PinnedOverflow: Rules and goals exceed their room (law 7). The turn was committed: the next run goes on.
            ConflictError: Another run of this thread is active.
            StateError: The state in the checkpoint was edited.
            StoreError: The journal cannot be written; nothing was committed.
        """
        return self._left(self._performed(self._passing(self._running(state))), state)

    async def abefore_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `before_model`, without blocking the event loop."""
        return self._left(await self._awaited(self._passing(self._running(state))), state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model role, state and messages."""
        return handler(self._shown(request, get_config()))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Like `wrap_model_call`."""
        shown = await self.controller.beside(self._shown, request, get_config())
        return await handler(shown)

    def after_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> Any:
        """Keep the final messages of a run. If a run does not end, the next run keeps them."""
        return self._performed(self._ending(self._running(state)))

    async def aafter_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> Any:
        """Like `after_agent`, without blocking the event loop."""
        return await self._awaited(self._ending(self._running(state)))

    def _running(self, state: Any) -> ChannelValues:
        """Return the channels after the run's entry: since then it was given nothing."""
        return self._of(state, get_config())._replace(is_same_run=True)

    def _entering(self, given: ChannelValues) -> Doing[dict[str, Any]]:
        return _noted_update((yield from self._looking(given, is_entry=True)))

    def _ending(self, given: ChannelValues) -> Doing[dict[str, Any]]:
        return _noted_update((yield from self._keeping(partial(self._ended, given))))

    def _ended(self, given: ChannelValues) -> Doing[Looked]:
        """Find what is there at a run's end. What a guard answered in the agent's place is not the user's.

        The agent's answers follow passes. So human messages that no pass has taken, with an answer behind them, were
        blocked: those that the run was given, after the answer before.
        """
        looked = yield from self._looking(given)
        new = {read.id for read in looked.new}
        answers = [i for i, m in enumerate(looked.rest) if m.type == "ai"]
        first, last = [-1, -1, *answers][-2:]
        said = (m for m in looked.rest[first + 1 : last + 1] if isinstance(m, HumanMessage))
        blocked = {str(m.id): "written" for m in said if m.id in new}
        if not blocked:
            return looked
        notes = replace(looked.notes, is_new=False).noting(who=blocked)
        return (yield from self._looking(given._replace(notes=notes, is_same_run=False)))

    def _left(self, passed: Passed | None, state: Any) -> dict[str, Any]:
        update = self._update(passed)
        return update | {PLACES: None} if "messages" in update and state.get(PLACES) else update

    def _shown(self, request: ModelRequest[Any], config: RunnableConfig) -> ModelRequest[Any]:
        if self.is_shadow:
            return request
        memory, messages = self._told(self._of(request.state, config), request.messages)
        role, _ = role_and_rest(as_messages(request.messages))
        whole = request.system_message
        for each in role:  # what the application put in front of its messages
            whole = with_memory(whole, str(each.text))
        return request.override(system_message=with_memory(whole, memory), messages=messages)  # type: ignore[arg-type]


def _noted_update(looked: Looked) -> dict[str, Any]:
    """Return the update of the channels by which the next hook knows what was noted."""
    update: dict[str, Any] = {"ccs_run": looked.given.owned(looked.notes.dump(), looked.thread)}
    return update | ({"messages": looked.written} if looked.written else {})


NOTHING = "Nothing to carry on."
"""The summary of an empty state."""


class MemorySummarizer(AgentMemory, Runnable[list[AnyMessage], str]):
    """The memory as the ``summarizer=`` of LangChain's own `SummarizationMiddleware`: the state is the summary.

        SummarizationMiddleware(
            model,
            trigger=("tokens", 8_000),
            summarizer=MemorySummarizer(memory),
            trim_tokens_to_summarize=None,
        )

    The middleware decides when to summarize, and which messages. What the summary replaces is in the journal, rules
    stay word for word, and the next summary is the next state. Without ``trim_tokens_to_summarize=None`` the
    middleware passes only the last 4,000 tokens, and the memory never sees the rest.
    """

    def __init__(
        self,
        controller: Controller,
        *,
        identity: Identify | None = None,
        channels: Mapping[str, Channel] | None = None,
    ) -> None:
        """Set up the summarizer.

        Args:
            controller: The memory.
            identity: Finds the thread of a run; by default from its ``thread_id``.
            channels: Channel by tool name; a tool's result is a tool's by default.

        Raises:
            ConfigurationError: ``controller`` is not a memory.
        """
        super().__init__(
            controller, identity=identity, channels=channels, resume=True, state_key=""
        )

    def invoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Return the summary of ``input``: the state after it.

        Raises:
            ConfigurationError: The run names no thread, or the memory is asynchronous.
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed.
            StoreError: The messages cannot be kept; nothing is summarized.
        """
        return self._summary(self._performed(self._passing(self._of(input, config), force=True)))

    async def ainvoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Like `invoke`, without blocking the event loop."""
        return self._summary(
            await self._awaited(self._passing(self._of(input, config), force=True))
        )

    def _of(self, messages: list[AnyMessage], config: RunnableConfig | None) -> ChannelValues:
        """Return the messages without this memory's own summaries; another's is a document."""
        whole = ensure_config(config)
        own = [m for m in as_messages(messages) if not (is_summary(m) and _is_own(str(m.text)))]
        whose = owner(whole, self.identity, None, own)
        return ChannelValues(whose, own, None, Notes(key=self.key), whole)

    def _summary(self, passed: Passed | None) -> str:
        state = passed.state if passed is not None else None
        text = render(state, self.controller.policy.style) if state is not None else ""
        return f"{LEGEND}\n\n{text}" if text else NOTHING


def _is_own(text: str) -> bool:
    return LEGEND in text or text.endswith(NOTHING)
