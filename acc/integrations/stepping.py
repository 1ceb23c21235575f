"""Load, check and cache the states in a graph's channel; run the steps of a memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM

from acc.board import Board
from acc.clock import Clock, now_line
from acc.commit.commit import Commit
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import (
    ConfigurationError,
    ConflictError,
    StateError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from acc.integrations.graph_channels import bound_to
from acc.integrations.identity import UNKNOWN
from acc.memory import Memory
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.render import with_legend
from acc.stores.protocol import Thread
from acc.turn.observations import Trust
from acc.turn.turn import Turn

MOST_HELD = 64
"""Limit of states cached as already validated; one takes a few kilobytes."""

RUN = "acc_memory"
"""Name of the run of a step in traces, and its ``lc_source``."""

COMMITTED = "state"
"""Progress key: the hash of the state that the memory wrote with the commit progress."""


class _Held(NamedTuple):
    """A state with its rendering and its plain JSON, a copy that is not shared."""

    state: CompressedCognitiveState
    raw: Mapping[str, Any]
    rendered: str


class HeldStates:
    """Reads the states of one policy from their channels. Safe for use by several threads.

    The memory wrote the state in a channel, or someone else did: an edit, a complete forgery with
    its own hash, or a state of another thread. The commit progress names the hash that the memory wrote.
    """

    def __init__(self, policy: Policy, adopt: Trust | None, clock: Clock | None = None) -> None:
        """Read states under ``policy``; ``adopt`` is the trust for an edited one.

        The agent reads the time of ``clock``, if there is one.
        """
        self._policy = policy
        self._clock = clock
        self._adopt = adopt
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._guard = threading.Lock()

    def load(
        self,
        raw: Any,
        progress: Any = None,
        *,
        committed: Callable[[], str | None] = lambda: None,
    ) -> CompressedCognitiveState | None:
        """Load the state in ``raw``; None if there is none yet.

        Without the commit ``progress`` any intact state is accepted, such as the seed of a new thread.
        ``committed`` returns the hash of the memory's last commit. It is called if the hash differs from the
        progress: the audit log has an operator's act before any checkpoint has it.

        Raises:
            StateError: ``raw`` is not a state, or someone else wrote it and ``adopt`` is None.
        """
        if raw is None:
            return None
        found = hash_of(raw)
        left = _left(progress)
        if left and found != left and found != committed():
            # Under the recorded hash it fails the integrity check, like every edited state.
            edited = {**raw, "hash": left} if isinstance(raw, Mapping) else raw
            return self._policy.schema.load(edited, adopt=self._adopt)
        held = self._known(found)
        if held is not None and held.raw == raw:
            return held.state
        state = self._policy.schema.load(raw, adopt=self._adopt)
        return self._hold(state).state

    def at(self, thread: Thread, branch: str, turn: int) -> CompressedCognitiveState | None:
        """Return the state after ``turn`` on ``branch`` of ``thread``, if it is still cached."""
        with self._guard:
            states = [held.state for held in self._held.values()]
        wanted = (thread.owner_key, branch, turn)
        return next((s for s in states[::-1] if (s.bound_to, s.branch, s.turn) == wanted), None)

    def check_left(self, found: CompressedCognitiveState | None, progress: Any) -> None:
        """Check that the state that ``progress`` names was not removed; to adopt that is to begin anew.

        Raises:
            StateError: It was removed, and ``adopt`` is None.
        """
        left = _left(progress)
        if left and found is None and self._adopt is None:
            raise StateError(
                "the state was taken out of its channel after it was committed",
                where=f"hash {str(left)[:12]}",
                hint="restore the committed state, or begin a new thread",
            )

    def rendered(
        self, state: CompressedCognitiveState, beside: Callable[[str], str] = lambda own: own
    ) -> str:
        """Return the text of ``state`` that the agent reads, after the legend; empty for an empty state.

        ``beside`` puts a board before it. With a clock the time follows.
        """
        now = now_line(self._clock) if self._clock is not None else ""
        text = with_legend(beside(self.text_of(state)))
        return "\n\n".join(filter(None, (text, now)))

    def text_of(self, state: CompressedCognitiveState) -> str:
        """Return the state as rendered under the policy."""
        held = self._known(state.hash)
        if held is not None and held.state is state:
            return held.rendered
        return self._policy.rendered(state)

    def canonical(
        self, state: CompressedCognitiveState, commit: Commit | None = None
    ) -> dict[str, Any]:
        """Return ``state`` as JSON for its channel, and cache it for later reads.

        Reuses the JSON that ``commit`` already made.
        """
        self._hold(state, commit.canonical() if commit is not None else None)
        return state.canonical()

    def _hold(
        self, state: CompressedCognitiveState, dumped: Mapping[str, Any] | None = None
    ) -> _Held:
        held = self._known(state.hash)
        if held is not None and held.state is state:
            return held
        held = _Held(state, dumped or state.canonical(), self._policy.rendered(state))
        with self._guard:
            self._held[state.hash] = held
            self._held.move_to_end(state.hash)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
        return held

    def _known(self, key: Any) -> _Held | None:
        with self._guard:
            return self._held.get(key) if isinstance(key, str) else None


def _left(progress: Any) -> Any:
    """Return the hash of the state that the memory wrote with the commit progress."""
    return progress.get(COMMITTED) if isinstance(progress, Mapping) else None


def check_own(raw: Any, progress: Any, thread: Thread, channel: str) -> None:
    """Check that no nested agent's state took the place of the one that ``progress`` names.

    Raises:
        StateError: One did: the channel has no reducer that keeps them apart.
    """
    left = _left(progress)
    if left and hash_of(raw) != left and bound_to(raw) not in ("", thread.owner_key):
        raise StateError(
            f"the state of another agent stands in the channel {channel!r}",
            where=f"thread {thread.thread!r}, agent {thread.agent!r}",
            hint=f"declare the channel as MemoryState does, {channel}: "
            "Annotated[dict[str, Any], OwnState] (acc.integrations.graph_channels), and go on from a "
            "checkpoint before that",
        )


@contextmanager
def _told_apart(thread: Thread) -> Iterator[None]:
    """Say in a `ConflictError` how runs of one nested agent get a memory each."""
    try:
        yield
    except ConflictError as error:
        if thread.agent == UNKNOWN:
            raise
        raise ConflictError(
            error.what,
            where=f"thread {thread.thread!r}, agent {thread.agent!r}",
            hint="two runs of this agent share one memory: to run it several times at once, compile "
            "it without checkpointer=True and leave its name to the default, or name each run "
            "(Identity(agent=...)). Otherwise wait until the other run ends",
            retry_after=error.retry_after,
        ) from error


def last_committed(memory: Memory, thread: Thread) -> Callable[[], str | None]:
    """Return a function that reads the hash of the thread's last commit from the audit log."""

    def told() -> str | None:
        last = memory.last_state(thread)
        return None if last is None else last.hash

    return told


def hash_of(raw: Any) -> Any:
    """Return the hash that the state in a channel claims."""
    return raw.get("hash") if isinstance(raw, Mapping) else getattr(raw, "hash", None)


def tell(step: Step, policy: Policy) -> None:
    """Send the step's events to the stream; does nothing outside of a graph."""
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # called as a function, or in another runtime
        return
    for event in events(step, policy):
        write(event)


def events(step: Step, policy: Policy) -> Iterator[dict[str, Any]]:
    """Yield the events of a step: recalled, admitted, committed, shared, evicted, tokens."""
    turn = step.turn.number
    yield {"memory": "recalled", "turn": turn, "candidates": len(step.verdicts)}
    yield {"memory": "admitted", "turn": turn, "refs": [e.ref for e in step.evidence]}
    yield {
        "memory": "committed",
        "turn": turn,
        "version": step.state.version,
        "hash": step.state.hash,
        "outcome": step.outcome,
        "ms": round(sum(step.ms.values()), 3),
    }
    if step.board is not None and (shared := step.board.commit) is not None:
        state = shared.state
        yield {"memory": "shared", "turn": turn, "version": state.version, "hash": state.hash}
    gone = [{"item": g.item.id, "reason": g.reason.value} for g in step.commit.set_aside]
    yield {"memory": "evicted", "turn": turn, "items": gone}
    yield {
        "memory": "tokens",
        "turn": turn,
        "state": step.commit.tokens,
        "bound": policy.max_tokens,
    }


Controller = MemoryController | AsyncMemoryController
Prior = CompressedCognitiveState | None


def check_controller(controller: Any) -> None:
    """Check that ``controller`` is a memory.

    Raises:
        ConfigurationError: It is not.
    """
    if not isinstance(controller, MemoryController | AsyncMemoryController):
        raise ConfigurationError(
            f"the memory is {type(controller).__name__}",
            where="controller",
            hint="open one: MemoryController.open(folder)",
        )


def stepped(
    controller: Controller,
    prior: Prior,
    turns: Sequence[Turn],
    thread: Thread,
    config: RunnableConfig | None,
    board: Board | None = None,
) -> list[Step]:
    """Run `MemoryController.step` for each of ``turns``, each from the state of the previous one.

    In traces each step is a run `RUN` with the metadata ``thread_id`` and ``lc_source``; a compressor's calls
    are its children. The stream does not show the chat model calls of a compressor.

    Raises:
        ConfigurationError: The memory is an `AsyncMemoryController`.
    """
    steps: list[Step] = []
    if not turns:
        return steps
    memory, shared = synchronous(controller), _with_board(board)

    def act(turn: Turn) -> list[dict[str, Any]]:
        before = steps[-1].state if steps else prior
        steps.append(memory.step(before, turn, thread=thread, **shared))
        return list(events(steps[-1], memory.settings.policy))

    for turn in turns:
        with _told_apart(thread):
            RunnableLambda(act, name=RUN).invoke(turn, _config(config, thread))
    return steps


async def astepped(
    controller: Controller,
    prior: Prior,
    turns: Sequence[Turn],
    thread: Thread,
    config: RunnableConfig | None,
    board: Board | None = None,
) -> list[Step]:
    """Like `stepped`, with either controller; a synchronous one works on threads.

    A cancelled run loses nothing that was said; see `AsyncMemoryController.step`.
    """
    steps: list[Step] = []

    async def act(turn: Turn) -> list[dict[str, Any]]:
        before = steps[-1].state if steps else prior
        steps.append(await controller._astep(before, turn, thread, board))
        return list(events(steps[-1], controller.settings.policy))

    for turn in turns:
        with _told_apart(thread):
            await RunnableLambda(act, name=RUN).ainvoke(turn, _config(config, thread))
    return steps


def _with_board(board: Board | None) -> dict[str, Any]:
    """Return the argument of ``step``; none without a board, for subclasses that take none."""
    return {} if board is None else {"board": board}


def synchronous(controller: Controller) -> MemoryController:
    """Return ``controller`` if it works without an event loop.

    Raises:
        ConfigurationError: It does not.
    """
    if isinstance(controller, MemoryController):
        return controller
    raise ConfigurationError(
        "an AsyncMemoryController in a graph that is run with invoke",
        where="controller",
        hint="run the graph with ainvoke or astream, or give a MemoryController",
    )


def _config(config: RunnableConfig | None, thread: Thread) -> RunnableConfig:
    whole = ensure_config(config)
    about = {"thread_id": thread.thread, **whole.get("metadata", {}), "lc_source": RUN}
    return merge_configs(whole, {"tags": [TAG_NOSTREAM], "metadata": about})


def worth_retrying(error: BaseException) -> bool:
    """Select errors for ``RetryPolicy(retry_on=worth_retrying)`` on a memory's node.

    LangGraph's default also retries permanent errors, such as an edited state or rules that do not
    fit. An unreachable store may recover later; all other errors need an operator.
    """
    lasting = isinstance(error, StoreLockedError | StoreMismatchError)
    return isinstance(error, StoreError) and not lasting
