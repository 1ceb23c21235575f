"""The memory as a middleware of `langchain.agents.create_agent`.

    agent = create_agent(model, tools, middleware=[..., MemoryMiddleware(memory)])

The model reads role, state and the current turn, never the transcript. List the middleware after
any that redacts messages or writes prompts: a redaction after the commit, or a prompt without the
state, is an error. The memory stores the agent's messages after the hooks have seen them. It does
not store a tool's result if the run was cancelled before the tool's step ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain_core.messages import SystemMessage, ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from acc.board import Board
from acc.errors import extra
from acc.integrations.agent_memory import AgentMemory
from acc.integrations.compaction import Compaction
from acc.integrations.delegates import DELEGATES, Delegates
from acc.integrations.delegation import Caller, caller, calling
from acc.integrations.graph_channels import OwnState, bound_to
from acc.integrations.identity import UNKNOWN, Config, Identify, enclosing_nodes, owner
from acc.integrations.messages import Voices, as_messages, pruned
from acc.integrations.past import past_of, recorded
from acc.integrations.reviews import marked
from acc.integrations.run_notes import WRITTEN, CommitPlan, RunNotes, watching
from acc.integrations.sharing import Share
from acc.integrations.stepping import Controller, Prior, astepped, stepped
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.transcript import named_channels

with extra("langchain", "langchain cannot be imported: {error}", where="MemoryMiddleware"):
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
        ToolCallRequest,
    )


class MemoryAgentState(AgentState[Any]):
    """The agent's own channels, the state as plain JSON, and the commit progress.

    Callers read ``ccs`` in the result. The input of an invocation cannot set either channel.
    """

    ccs: NotRequired[Annotated[dict[str, Any], OmitFromInput, OwnState]]
    ccs_run: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class MemoryMiddleware(AgentMemory, AgentMiddleware[Any, Any, Any]):
    """Commits each turn before the agent's model call, prunes, and shows the state and the turn.

    It commits once before the first model call. In a long tool loop it also commits the steps that
    the model has read, whenever they exceed a limit. Committed messages leave the channel.
    """

    state_schema = MemoryAgentState

    def __init__(
        self,
        controller: Controller,
        *,
        identity: Identify | None = None,
        channels: Mapping[str, Channel] | None = None,
        speakers: Collection[str] | None = None,
        human: Channel | str = Channel.USER,
        fold_over: int | None = 2_000,
        adopt: Trust | None = None,
        resume: bool = False,
        tell_time: bool = False,
        share: Share | Board | None = None,
        delegates: Mapping[str, str] = DELEGATES,
    ) -> None:
        """Set up the middleware.

        Args:
            controller: The memory; an `AsyncMemoryController` only for an agent that always runs
                asynchronously.
            identity: Finds the thread of a run; by default from its ``thread_id``.
            channels: Channel by tool name; a tool is a document by default. Also by the name of
                human messages that are not from the user.
            speakers: Names of people who speak as the user; other names are documents. None
                accepts every name.
            human: Channel of a human who reviews a call (`HumanInTheLoopMiddleware`) or answers an
                interrupt.
            fold_over: Limit, in tokens, of steps that the model has read before a commit within the
                turn; 0 commits each step, None waits for the user's next turn.
            adopt: Trust for a state that was edited in its checkpoint; None makes an edit an error.
            resume: If the checkpoint has no state, continue from the thread's last state in the
                audit log. For callers without checkpoints that pass the whole transcript.
            tell_time: The model reads the time of the controller's clock after the state.
            share: What the agents of a conversation share on a board: "rules", "rules and goals",
                "all", "all and measurements", or a `Board` of your own. None keeps the memory to this agent.
            delegates: Tools that run a sub-agent, with the argument that holds its task. The board
                is added to the task, for agents without the memory. Such a tool does not receive
                this agent's state.

        Raises:
            ConfigurationError: ``controller`` is not a memory, ``fold_over`` is negative, or the
                memory cannot keep a board.
        """
        named = {WRITTEN: Channel.DOCUMENT, **named_channels(channels)}
        super().__init__(
            controller, Voices.of(named, speakers, human), identity=identity, fold_over=fold_over,
            adopt=adopt, resume=resume, tell_time=tell_time, share=share,
        )  # fmt: skip
        voices = self.compaction.voices
        self.delegates = Delegates(delegates, voices, self.identity, self.sharing)
        self.tools = []

    def before_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Note the agent's input messages; LangChain does not repeat this hook on resume."""
        config, before, notes = get_config(), as_messages(state["messages"]), _notes(state)
        agent = "" if (thread := self._thread(state)).agent == UNKNOWN else thread.agent
        notes = replace(notes, agent=agent)
        hearing, shared = self._hearing(notes), self._shared(config, thread)
        messages = self._marked(config, before, hearing.voices, shared)
        update = {"ccs_run": notes.entered(messages, hearing).dump()}
        marked = [m for m, was in zip(messages, before, strict=True) if m is not was]
        return update | ({"messages": marked} if marked else {})

    async def abefore_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `before_agent`, without blocking the event loop."""
        return await self.controller._beside(self._thread(state), self.before_agent, state, runtime)

    def before_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Commit the turn, or its excess steps, and prune the committed messages.

        Raises:
            PinnedOverflow: Rules and goals alone exceed the limits (law 7).
            ConflictError: Another run of this thread is active.
            StateError: The state in the checkpoint was edited.
            StoreError: The evidence cannot be written; nothing was committed.
        """
        return self._committed(state)

    async def abefore_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `before_model`, without blocking the event loop."""
        return await self._acommitted(state)

    def _committed(self, state: Any, over: int | None = None) -> dict[str, Any]:
        """Commit what is due, steps of more than ``over`` tokens too if it is given; return the update."""
        thread = self._thread(state)
        prior, plan = self._plan(state, thread, over)
        board = self._board(thread)
        steps = stepped(self.controller, prior, plan.turns, thread, get_config(), board)
        return self._update(state, prior, plan, steps)

    async def _acommitted(self, state: Any, over: int | None = None) -> dict[str, Any]:
        """Like `_committed`, without blocking the event loop."""
        thread = self._thread(state)
        prior, plan = await self.controller._beside(thread, self._plan, state, thread, over)
        board = self._board(thread)
        steps = await astepped(self.controller, prior, plan.turns, thread, get_config(), board)
        return self._update(state, prior, plan, steps)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Store new observations of the turn, then show the model role, state and turn.

        Raises:
            ConfigurationError: Another middleware rewrote a stored message, or removed the state or
                the user's message from the prompt. The order of the middleware list is wrong.
        """
        carried, shown = self._shown(request)
        with watching() as watch:
            response = handler(shown)
        watch.check(carried, _notes(request.state).user_id)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Like `wrap_model_call`."""
        thread = self._thread(request.state)
        carried, shown = await self.controller._beside(thread, self._shown, request)
        with watching() as watch:
            response = await handler(shown)
        watch.check(carried, _notes(request.state).user_id)
        return response

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Note on the result that a human changed the call or answered the tool's question."""
        who = self._caller(request)
        with calling(who):
            return marked(request, handler(self.delegates.handed(request, who)))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Like `wrap_tool_call`."""
        if self.sharing is None:
            who = self._caller(request)
        else:
            thread = self._thread(request.state, request.runtime.config)
            who = await self.controller._beside(thread, self._caller, request)
        with calling(who):
            return marked(request, await handler(self.delegates.handed(request, who)))

    def after_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Store the final messages of a run. If a run does not end, the next run stores them.

        What the user said within a nested run is committed now if the agent shares a board: the run may
        be the agent's last.
        """
        update = self._committed(state, over=0) if self._is_news(state) else {}
        return self._ended(state, update)

    async def aafter_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `after_agent`, without blocking the event loop."""
        update = await self._acommitted(state, over=0) if self._is_news(state) else {}
        return await self.controller._beside(self._thread(state), self._ended, state, update)

    def _is_news(self, state: Any) -> bool:
        """Return whether the user said something in this nested run that others may read on a board."""
        if self.sharing is None or not (caller() or enclosing_nodes(get_config())):
            return False
        notes = _notes(state)
        unseen = notes.unseen(state["messages"], self._hearing(notes))
        return any(o.channel is Channel.USER for o in unseen)

    def _ended(self, state: Any, update: dict[str, Any]) -> dict[str, Any]:
        """Store what ``update`` has not committed; the messages stay for whoever reads the result."""
        kept = {name: value for name, value in update.items() if name != "messages"}
        now, messages = {**state, **kept}, state["messages"]
        notes = _notes(now)
        self._record(now, self._loaded(now), notes.unseen(messages, self._hearing(notes)))
        return {**kept, "ccs_run": notes.ended(messages, self._hearing(notes)).dump()}

    def _hearing(self, notes: RunNotes) -> Compaction:
        return self.compaction.heard_by(notes.agent or UNKNOWN)

    def _thread(self, state: Any, config: Config | None = None) -> Thread:
        return owner(
            get_config() if config is None else config,
            self.identity,
            agent=_notes(state).agent or None,
            messages=as_messages(state["messages"]),
            bound_to=bound_to(state.get("ccs")),
        )

    def _caller(self, request: ToolCallRequest) -> Caller:
        thread = self._thread(request.state, request.runtime.config)
        return self.delegates.caller(request, thread, _notes(request.state).written)

    def _plan(
        self, state: Any, thread: Thread, over: int | None = None
    ) -> tuple[Prior, CommitPlan]:
        notes, messages = _notes(state), state["messages"]
        prior = self._prior(state.get("ccs") or None, notes.mark, thread, messages, "ccs")
        removed = notes.removed(messages)
        found = recorded(self.controller, thread, prior, removed) if removed and prior else ()
        past = past_of(self.controller, thread, prior)
        how = self._hearing(notes)
        how = how if over is None else replace(how, over=over)
        return prior, notes.plan(messages, how, past=past, restored=found)

    def _update(
        self, state: Any, prior: Prior, plan: CommitPlan, steps: Sequence[Step]
    ) -> dict[str, Any]:
        after = steps[-1].state if steps else prior
        update: dict[str, Any] = {}
        notes = plan.notes.with_state_hash(after.hash) if after is not None else plan.notes
        if (news := self._news(state.get("ccs"), after, steps)) is not None:
            update["ccs"] = news
        if notes.dump() != state.get("ccs_run"):
            update["ccs_run"] = notes.dump()
        if changed := pruned(state["messages"], plan.messages):
            update["messages"] = changed
        self._tell(steps)
        return update

    def _shown(self, request: ModelRequest[Any]) -> tuple[str, ModelRequest[Any]]:
        """Return the rendered state, and the request with that state and the current turn.

        It also stores what the turn has newly observed.
        """
        notes, prior = _notes(request.state), self._loaded(request.state)
        notes.check_unchanged(request.state["messages"], self._hearing(notes))
        carried = self._carried(prior, request.state) if prior else ""
        shown = request.override(
            system_message=_with_state(request.system_message, carried),
            messages=notes.view(request.messages, self._hearing(notes)),  # type: ignore[arg-type]
        )
        showing = notes.showing(request.state["messages"], self._hearing(notes))
        self._record(request.state, prior, showing)
        return carried, shown

    def _carried(self, prior: CompressedCognitiveState, state: Any) -> str:
        """Return the text of the state, after the board if the agent shares one."""
        if self.sharing is None:
            return self._rendered(prior, None)
        return self._rendered(prior, self._shared(get_config(), self._thread(state)))

    def _board(self, thread: Thread) -> Board | None:
        shared = self._shared(get_config(), thread)
        return shared.board if shared is not None else None

    def _record(self, state: Any, prior: Prior, observations: tuple[Observation, ...]) -> None:
        if observations:
            self.controller._persist_decision(observations, prior, self._thread(state))

    def _loaded(self, state: Any) -> Prior:
        return self.held.load(state.get("ccs") or None, _notes(state).mark)


def _notes(state: Any) -> RunNotes:
    return RunNotes.load(state.get("ccs_run"))


def _with_state(role: SystemMessage | None, carried: str) -> SystemMessage | None:
    """Append the state to the role; the role's own blocks keep their cache marks."""
    if not carried:
        return role
    if role is None:
        return SystemMessage(carried)
    if isinstance(role.content, str):
        content: Any = f"{role.content}\n\n{carried}"
    else:
        content = [*role.content, {"type": "text", "text": f"\n\n{carried}"}]
    return role.model_copy(update={"content": content})
