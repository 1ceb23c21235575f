"""The state in a graph's channel: checked once, and known again wherever the graph reads it."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_NOSTREAM

from acc.commit.commit import Commit
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import (
    ConfigurationError,
    StateError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from acc.memory import Memory
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.turn.observations import Trust
from acc.turn.turn import Turn

MOST_HELD = 64
"""States that are known again without being validated; one is a few kilobytes."""

COMMITTED = "state"
"""In the mark beside the state: the hash of the state that the memory left there with it."""


class _Held(NamedTuple):
    """A state with its plain JSON, a copy that nobody else holds, and what the agent reads."""

    state: CompressedCognitiveState
    raw: Mapping[str, Any]
    rendered: str


class HeldStates:
    """Reads the states of one policy from their channels. For several threads at once.

    A state in a channel is the one that the memory left there, or it was written by somebody
    else: edited, forged whole with a hash of its own, or brought from another thread. The mark
    beside it names the one that was left.
    """

    def __init__(self, policy: Policy, adopt: Trust | None) -> None:
        """Read states under ``policy``; ``adopt`` is the trust at which an edited one is taken."""
        self._policy = policy
        self._adopt = adopt
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._guard = threading.Lock()

    def load(
        self,
        raw: Any,
        mark: Any = None,
        *,
        committed: Callable[[], str | None] = lambda: None,
    ) -> CompressedCognitiveState | None:
        """The state in ``raw``; None where there is none yet.

        Args:
            raw: What stands in the state's channel.
            mark: What stands beside it; without one any intact state is taken, such as the
                seed of a new thread.
            committed: Tells the hash of what the memory committed last, where the state is not
                the one that was left: an operator's act stands in the audit log before anybody
                puts it into a checkpoint.

        Raises:
            StateError: It is none, or somebody else wrote it, and no trust to adopt it at was
                chosen.
        """
        if raw is None:
            return None
        found = hash_of(raw)
        left = mark.get(COMMITTED) if isinstance(mark, Mapping) else None
        if left and found != left and found != committed():
            # Under the hash that was left it fails the check of every edited state.
            edited = {**raw, "hash": left} if isinstance(raw, Mapping) else raw
            return self._policy.schema.load(edited, adopt=self._adopt)
        held = self._known(found)
        if held is not None and held.raw == raw:
            return held.state
        state = self._policy.schema.load(raw, adopt=self._adopt)
        return self._hold(state).state

    def at(self, thread: Thread, branch: str, turn: int) -> CompressedCognitiveState | None:
        """The state that turn ``turn`` left on ``branch`` of ``thread``, if it is held still."""
        with self._guard:
            states = [held.state for held in self._held.values()]
        wanted = (thread.owner_key, branch, turn)
        return next((s for s in states[::-1] if (s.bound_to, s.branch, s.turn) == wanted), None)

    def check_left(self, found: CompressedCognitiveState | None, mark: Any) -> None:
        """See that nobody took away the state that ``mark`` names; to adopt that is to begin anew.

        Raises:
            StateError: Somebody did, and no trust to adopt edits at was chosen.
        """
        left = mark.get(COMMITTED) if isinstance(mark, Mapping) else None
        if left and found is None and self._adopt is None:
            raise StateError(
                "the state was taken out of its channel after it was committed",
                where=f"hash {str(left)[:12]}",
                hint="restore the committed state, or begin a new thread",
            )

    def rendered(self, state: CompressedCognitiveState) -> str:
        """What the agent reads of ``state``."""
        held = self._known(state.hash)
        if held is not None and held.state is state:
            return held.rendered
        return self._policy.rendered(state)

    def canonical(
        self, state: CompressedCognitiveState, commit: Commit | None = None
    ) -> dict[str, Any]:
        """``state`` as it goes into its channel, and known again when it is read there.

        Of the ``commit`` that made it, what it dumped already is held.
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


def last_committed(memory: Memory, thread: Thread) -> Callable[[], str | None]:
    """The hash of what ``memory`` committed last for ``thread``, by its audit log, once asked for."""

    def told() -> str | None:
        last = memory.last_state(thread)
        return None if last is None else last.hash

    return told


def hash_of(raw: Any) -> Any:
    """The hash that the state in a channel gives as its own."""
    return raw.get("hash") if isinstance(raw, Mapping) else getattr(raw, "hash", None)


def tell(step: Step, policy: Policy) -> None:
    """Send the step's events, where somebody listens; outside of a graph nothing happens."""
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # called as a function, or in another runtime
        return
    for event in events(step, policy):
        write(event)


def events(step: Step, policy: Policy) -> Iterator[dict[str, Any]]:
    """The events of a step: recalled, admitted, committed, evicted, tokens."""
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
    """Hold ``controller`` to being one, before anything is asked of it.

    Raises:
        ConfigurationError: It is something else.
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
) -> list[Step]:
    """`MemoryController.step` for each of ``turns``, each from the state that the one before left.

    No chat model that a compressor calls is heard in the stream.

    Raises:
        ConfigurationError: The memory is an `AsyncMemoryController`.
    """
    steps: list[Step] = []
    if not turns:
        return steps
    memory = synchronous(controller)
    with set_config_context(_quiet(config)) as context:
        for turn in turns:
            step = context.run(memory.step, prior, turn, thread=thread)
            steps, prior = [*steps, step], step.state
    return steps


async def astepped(
    controller: Controller,
    prior: Prior,
    turns: Sequence[Turn],
    thread: Thread,
    config: RunnableConfig | None,
) -> list[Step]:
    """As `stepped`, with either controller; a synchronous one works in a thread."""
    steps: list[Step] = []
    with set_config_context(_quiet(config)) as context:
        for turn in turns:
            if isinstance(controller, AsyncMemoryController):
                stepping = controller.step(prior, turn, thread=thread)
            else:
                stepping = asyncio.to_thread(controller.step, prior, turn, thread=thread)
            step = await asyncio.create_task(stepping, context=context)
            steps, prior = [*steps, step], step.state
    return steps


def synchronous(controller: Controller) -> MemoryController:
    """The controller, where it can be used without an event loop.

    Raises:
        ConfigurationError: It cannot.
    """
    if isinstance(controller, MemoryController):
        return controller
    raise ConfigurationError(
        "an AsyncMemoryController in a graph that is run with invoke",
        where="controller",
        hint="run the graph with ainvoke or astream, or give a MemoryController",
    )


def _quiet(config: RunnableConfig | None) -> RunnableConfig:
    return merge_configs(ensure_config(config), {"tags": [TAG_NOSTREAM]})


def worth_retrying(error: BaseException) -> bool:
    """For ``RetryPolicy(retry_on=worth_retrying)`` on a memory's node.

    LangGraph's default retries what can only fail again: an edited state, rules that do not fit.
    A store that cannot be reached may be reached later; all other errors wait for somebody.
    """
    lasting = isinstance(error, StoreLockedError | StoreMismatchError)
    return isinstance(error, StoreError) and not lasting
