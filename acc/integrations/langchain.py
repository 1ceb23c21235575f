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
from acc.errors import ConfigurationError
from acc.integrations.compaction import Compaction
from acc.integrations.delegates import DELEGATES, Delegates
from acc.integrations.delegation import Caller, caller, calling, with_tasks_marked
from acc.integrations.graph_channels import OwnState
from acc.integrations.identity import (
    UNKNOWN,
    Config,
    Identify,
    Identity,
    enclosing_nodes,
    owner,
    thread_of,
)
from acc.integrations.messages import Voices, as_messages, pruned
from acc.integrations.past import Resuming, past_of, recorded, state_after
from acc.integrations.reviews import marked
from acc.integrations.run_notes import WRITTEN, CommitPlan, RunNotes, watching
from acc.integrations.sharing import Share, Shared, Sharing
from acc.integrations.stepping import (
    Controller,
    HeldStates,
    Prior,
    astepped,
    check_controller,
    check_own,
    hash_of,
    last_committed,
    stepped,
    tell,
)
from acc.operators import with_operator_acts
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.transcript import named_channels

try:
    from langchain.agents.middleware.types import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        OmitFromInput,
        PrivateStateAttr,
        ToolCallRequest,
    )
except ImportError as error:
    raise ConfigurationError(
        f"langchain cannot be imported: {error}",
        where="MemoryMiddleware",
        hint="pip install 'agent-cognitive-compressor[langchain]'",
    ) from error


class MemoryAgentState(AgentState[Any]):
    """The agent's own channels, the state as plain JSON, and the commit progress.

    Callers read ``ccs`` in the result. The input of an invocation cannot set either channel.
    """

    ccs: NotRequired[Annotated[dict[str, Any], OmitFromInput, OwnState]]
    ccs_run: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class MemoryMiddleware(AgentMiddleware[Any, Any, Any]):
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
        resume: bool | None = None,
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
            resume: If the checkpoint has no state, continue from the thread's last state in the audit
                log. None does so unless the checkpointer holds states of the thread: the run then goes
                back to before the first turn. False begins anew, without the thread's rules.
            tell_time: The model reads the time of the controller's clock after the state.
            share: What the agents of a conversation share on a board: "rules", "rules and goals",
                "all", or a `Board` of your own. None keeps the memory to this agent.
            delegates: Tools that run a sub-agent, with the argument that holds its task. The board
                is added to the task, for agents without the memory. Such a tool does not receive
                this agent's state.

        Raises:
            ConfigurationError: ``controller`` is not a memory, ``fold_over`` is negative, or the
                memory cannot keep a board.
        """
        super().__init__()
        check_controller(controller)
        self.controller = controller
        self.identity = identity or Identity()
        named = {WRITTEN: Channel.DOCUMENT, **named_channels(channels)}
        voices = replace(Voices.of(named, speakers, human), redact=controller._redact)
        self.compaction = Compaction(
            voices=voices, over=fold_over, counter=controller.settings.policy.counter
        )
        self.held = HeldStates(
            controller.settings.policy, adopt, controller.settings.clock if tell_time else None
        )
        self.resuming = Resuming(resume, "ccs", controller.last_state)
        self.sharing = Sharing(controller, share) if share is not None else None
        self.delegates = Delegates(delegates, voices, self.identity, self.sharing)
        self.tools = []

    def before_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Note the agent's input messages; LangChain does not repeat this hook on resume."""
        config, before, notes = get_config(), as_messages(state["messages"]), _notes(state)
        agent = "" if (thread := self._thread(state)).agent == UNKNOWN else thread.agent
        notes, base = replace(notes, agent=agent), thread_of(config, self.identity)
        voices = self._hearing(notes).voices
        shared = self._shared(config, thread)
        messages = with_tasks_marked(
            self.controller, config, base, before, voices, shared and shared.told
        )
        update = {"ccs_run": notes.entered(messages, self._hearing(notes)).dump()}
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
        thread = self._thread(state)
        prior, plan = self._plan(state, thread)
        board = self._board(thread)
        steps = stepped(self.controller, prior, plan.turns, thread, get_config(), board)
        return self._update(state, prior, plan, steps)

    async def abefore_model(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `before_model`, without blocking the event loop."""
        thread = self._thread(state)
        prior, plan = await self.controller._beside(thread, self._plan, state, thread)
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
        if not self._is_news(state):
            return self._ended(state, {})
        thread = self._thread(state)
        prior, plan = self._plan(state, thread, over=0)
        board = self._board(thread)
        steps = stepped(self.controller, prior, plan.turns, thread, get_config(), board)
        return self._ended(state, self._update(state, prior, plan, steps))

    async def aafter_agent(self, state: MemoryAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Like `after_agent`, without blocking the event loop."""
        thread, update = self._thread(state), dict[str, Any]()
        if self._is_news(state):
            prior, plan = await self.controller._beside(thread, self._plan, state, thread, over=0)
            board = self._board(thread)
            steps = await astepped(self.controller, prior, plan.turns, thread, get_config(), board)
            update = self._update(state, prior, plan, steps)
        return await self.controller._beside(thread, self._ended, state, update)

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
        raw, notes = state.get("ccs") or {}, _notes(state)
        return owner(
            get_config() if config is None else config,
            self.identity,
            agent=notes.agent or None,
            messages=as_messages(state["messages"]),
            bound_to=str(raw.get("bound_to") or ""),
        )

    def _caller(self, request: ToolCallRequest) -> Caller:
        thread = self._thread(request.state, request.runtime.config)
        return self.delegates.caller(request, thread, _notes(request.state).written)

    def _plan(
        self, state: Any, thread: Thread, over: int | None = None
    ) -> tuple[Prior, CommitPlan]:
        notes, messages = _notes(state), state["messages"]
        check_own(state.get("ccs"), notes.mark, thread, "ccs")
        committed = last_committed(self.controller, thread)
        prior = self.held.load(state.get("ccs") or None, notes.mark, committed=committed)
        if prior is None:
            prior = self._resumed(thread, messages, notes)
        self.held.check_left(prior, notes.mark)
        if prior is not None:
            prior = with_operator_acts(self.controller, prior, thread)
        removed = notes.removed(messages)
        found = recorded(self.controller, thread, prior, removed) if removed and prior else ()
        past = past_of(self.controller, thread, prior)
        how = self._hearing(notes)
        how = how if over is None else replace(how, over=over)
        return prior, notes.plan(messages, how, past=past, restored=found)

    def _resumed(self, thread: Thread, messages: Sequence[Any], notes: RunNotes) -> Prior:
        """Return the state to continue from if the checkpoint has none."""
        if notes.mark is None:
            found = state_after(self.controller, self.held, thread, messages)
            how = self._hearing(notes)
            return found or self.resuming.state(
                self.controller, thread, messages, how, get_config()
            )
        return self.controller.last_state(thread) if self.resuming.wanted else None

    def _update(
        self, state: Any, prior: Prior, plan: CommitPlan, steps: Sequence[Step]
    ) -> dict[str, Any]:
        last = steps[-1] if steps else None
        after = last.state if last is not None else prior
        update: dict[str, Any] = {}
        notes = plan.notes
        if after is not None:
            notes = notes.with_state_hash(after.hash)
            if hash_of(state.get("ccs")) != after.hash:
                commit = last.commit if last is not None else None
                update["ccs"] = self.held.canonical(after, commit)
        if notes.dump() != state.get("ccs_run"):
            update["ccs_run"] = notes.dump()
        if changed := pruned(state["messages"], plan.messages):
            update["messages"] = changed
        for step in steps:
            tell(step, self.controller.settings.policy)
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
        self._record(request.state, prior, self._showing(request.state))
        return carried, shown

    def _carried(self, prior: CompressedCognitiveState, state: Any) -> str:
        """Return the text of the state, after the board if the agent shares one."""
        if self.sharing is None:
            return self.held.rendered(prior)
        shared = self.sharing.of_run(get_config(), self.identity, self._thread(state))
        return self.held.rendered(prior, shared.beside)

    def _shared(self, config: Config, thread: Thread) -> Shared | None:
        if self.sharing is None:
            return None
        return self.sharing.of_run(config, self.identity, thread)

    def _board(self, thread: Thread) -> Board | None:
        shared = self._shared(get_config(), thread)
        return shared.board if shared is not None else None

    def _showing(self, state: Any) -> tuple[Observation, ...]:
        notes = _notes(state)
        return notes.showing(state["messages"], self._hearing(notes))

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
