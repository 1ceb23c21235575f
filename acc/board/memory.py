"""`BoardMemory` and `AsyncBoardMemory`: a memory whose agents share a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Generic, TypeVar, get_args

from acc.board.board import Board, BoardOverflow, SharedStep, State, To, both
from acc.board.delivery import doubled, tell
from acc.board.listening import Listener, listening
from acc.board.writing import Batch, Desk, Known, batch_of, begin_of_turn
from acc.controller.acts import retire
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.controller.one_turn import stepped
from acc.driving import Doing, Io, awaited, beside, performed
from acc.errors import ConfigurationError, ConflictError, InputError, PinnedOverflow
from acc.journal import Latest, ThreadKey
from acc.journal.names import Key, key_of
from acc.state.tail import marked
from acc.step.result import Step
from acc.turn.turn import Turn

Controller = MemoryController[Any] | AsyncMemoryController[Any]

C = TypeVar("C", MemoryController[Any], AsyncMemoryController[Any])
T = TypeVar("T")

MOST_THREADS = 10_000
"""Threads of which a process remembers that the board was told. Of others it looks at the last turn again."""

MOST_BOARDS = 256
"""Boards of which a process keeps what came there. Others are read anew."""

_RACED = "another worker went on meanwhile: what is on the board leaves the agent's own state with its next step"


class _Common(Generic[C]):
    """What a memory with a board does, for threads and for event loops alike: each act is a computation.

    Attributes:
        memory: The agents' memory, which also holds the board's thread.
        board: The board.
    """

    def __init__(self, memory: C, board: Board, *, listener: Listener = None) -> None:
        """Share a board in a memory.

        Args:
            memory: The memory. It stays the caller's to close.
            board: The board.
            listener: Reads what people say for the board: what is private, what ends a rule of the board
                (`acc.board.listening.Heard`). None: the memory's model; without one the keyless rules, which know of
                ends alone. False: nobody listens.

        Raises:
            ConfigurationError: These are no memory or no board.
        """
        if not isinstance(board, Board) or not hasattr(memory, "journal"):
            what = f"given are a {type(memory).__name__} and a {type(board).__name__}"
            raise ConfigurationError(
                what, where="BoardMemory", hint="give a controller and a Board"
            )
        self.memory: C = memory
        self.board = board
        self._listener: Listener = listener
        self._known = lru_cache(MOST_BOARDS)(Known)
        self._told_upto: dict[tuple[ThreadKey, str], int] = {}

    def _step(
        self, state: Any, turn: Turn, *, thread: Key, to: To = "", force: bool = False
    ) -> Doing[SharedStep]:
        """Take a turn of an agent, and share what may be shared.

        Args:
            state: The agent's state; None for where its thread stopped.
            turn: What happened since.
            thread: The agent's thread.
            to: ``"all"`` if the user speaks to all who read the board, as the caller knows. The turn is compressed at
                once, and its rules go to the board.
            force: Compress now, whatever the size.

        Raises:
            PinnedOverflow: The agent's rules do not fit. Everything else was committed and shared: ``error.step``.
            BoardOverflow: The board is full. Everything else was committed: ``error.shared``.
            ConflictError: Another worker committed to the agent's thread meanwhile. Repeat the step.
            ConfigurationError: ``to`` is something else, or ``thread`` is the board's own.
        """
        if to not in get_args(To):
            hint = 'give "all", or "" for the agent alone'
            raise ConfigurationError(f"to is {to!r}", where="to", hint=hint)
        key, is_now = key_of(thread), force or to == "all"
        branch = state.branch if state is not None else "main"
        after = yield from self._caught_up(key, branch)
        act = stepped(self.memory, state, turn, thread=key, force=is_now)
        return (yield from self._acted(act, key, branch, after, to))  # type: ignore[no-any-return]

    def _flush(self, thread: Key, *, branch: str = "main") -> Doing[SharedStep | None]:
        """Compress what waits in an agent's tail, and share it; None if nothing waits. Before a hand-over."""
        key = key_of(thread)
        after = yield from self._caught_up(key, branch)
        act = self.memory.flushing(key, branch=branch)
        return (yield from self._acted(act, key, branch, after, ""))  # type: ignore[no-any-return]

    def _acted(
        self, act: Doing[Any], key: ThreadKey, branch: str, after: int, to: To
    ) -> Doing[Any]:
        """Let the agents' memory act, and share what it made. What did not fit is told last."""
        overflow: PinnedOverflow | None = None
        try:
            step: Step[Any] | None = yield from act
        except PinnedOverflow as error:
            step, overflow = error.step, error
        if step is None:
            return None
        begun = after if step.state.branch == branch else None
        try:
            made = yield from self._sharing(step, key, begun, to)
        except BoardOverflow as error:
            raise error from overflow
        if overflow is not None:
            overflow.step = made.step
            raise overflow
        return made

    def _sharing(
        self, step: Step[Any], key: ThreadKey, after: int | None, to: To
    ) -> Doing[SharedStep]:
        """Share a step; ``after`` is None where it began a branch, or was made elsewhere.

        A repeated step tells again what is not there.
        """
        state = step.state
        if after is None or to or after >= state.version:
            begin = yield Io(lambda: begin_of_turn(self.memory.journal, key, state))
            after = begin if after is None else min(after, begin)
        told = yield from self._telling(key, step, after, to)
        made: SharedStep = yield Io(lambda: self._moved(told, key))
        if made.board_step is not None and made.board_step.no_room:
            raise BoardOverflow(made)
        return made

    def _moved(self, made: SharedStep, key: ThreadKey) -> SharedStep:
        """Let what the board holds leave the agent's own state: there is one of it."""
        first: Step[Any] = made.step
        board = made.board.state
        ids = tuple(doubled(first.state, board)) if board is not None else ()
        if not ids:
            return made
        why = f"shared on the board {self.board.name}"
        try:
            own: Step[Any] = retire(self.memory, ids, why, key, first.state)
        except (ConflictError, InputError):  # another worker let them leave
            return replace(made, warnings=(*made.warnings, _RACED))
        tail = marked(own.state.unread, (*first.tail, *own.tail))
        commits = (*first.commits, *own.commits)
        return replace(made, step=replace(first, state=own.state, commits=commits, tail=tail))

    def _caught_up(self, key: ThreadKey, branch: str) -> Doing[int]:
        """Tell the board of the turn before, if this process does not know that it was told: its step may have died.

        Returns:
            The version of the agent's commits up to which the board was told.
        """
        self.board.key_of(key)  # its own thread is no agent's: told before anything is committed
        memory = self.memory
        if (key, branch) not in self._told_upto:
            latest = yield Io(lambda: memory.standing(key, branch))
            if latest.state is None:
                return 0
            after = yield Io(lambda: begin_of_turn(memory.journal, key, latest.state))
            yield from self._telling(key, memory.as_step(latest.state, latest.tail), after)
        return self._told_upto[(key, branch)]

    def _telling(
        self, key: ThreadKey, step: Step[Any], after: int, to: To = ""
    ) -> Doing[SharedStep]:
        """Tell the board of commits, and remember up to which one it was told; of the newest threads alone."""
        journal, desk, who = self.memory.journal, self._desk(key), self.memory.core
        state = step.state
        batch: Batch = yield Io(lambda: batch_of(journal, key, state, after))
        board: State = yield Io(lambda: desk.state_of(desk.latest()))
        heard = yield from listening(who, self._listener, self.board, batch, board)
        told = yield from tell(desk, step, batch, heard, to)
        self._told_upto.pop((key, state.branch), None)
        self._told_upto[(key, state.branch)] = after if heard.failure else state.version
        while len(self._told_upto) > MOST_THREADS:
            self._told_upto.pop(next(iter(self._told_upto)), None)
        return told

    def _desk(self, key: ThreadKey) -> Desk:
        memory, where = self.memory, self.board.key_of(key)
        return Desk(memory.journal, memory.index, self._known(where), self.board.policy, where)

    def rendered(self, latest: Latest[Any], own: Any = None) -> str:
        """Return what an agent reads of a board (`head`) and of its own state, each under its heading."""
        return both(latest, own, self.board.policy, self.memory.policy)

    def _retire(self, ids: Sequence[str], reason: str = "", *, thread: Key) -> Doing[Step[Any]]:
        """End items of the board as its operator.

        Raises:
            InputError: The board does not hold one of them.
        """
        return self._desk(key_of(thread)).retire(ids, reason)

    def _head(self, thread: Key) -> Latest[Any]:
        """Return the board's newest head, state and tail, as an agent of ``thread`` sees it."""
        return self._desk(key_of(thread)).latest()


class BoardMemory(_Common[MemoryController[Any]]):
    """A memory whose agents share a board. Threads and processes may share it as they share the memory."""

    step = performed(_Common._step)
    flush = performed(_Common._flush)
    retire = performed(_Common._retire)
    head = _Common._head


class AsyncBoardMemory(_Common[AsyncMemoryController[Any]]):
    """The same for event loops: nothing blocks the loop."""

    step = awaited(_Common._step)
    flush = awaited(_Common._flush)
    retire = awaited(_Common._retire)
    head = beside(_Common._head)

    async def beside(self, act: Callable[[], T]) -> T:
        """Run something that may block, beside the event loop."""
        return await self.memory.beside(act)

    async def carried_out(self, doing: Doing[T]) -> T:
        """Carry out a computation."""
        return await self.memory.carried_out(doing)
