"""The board that the agents of a conversation share, as a run of one of them reaches it.

The agents of a conversation share the rules that somebody said to all of them (`acc.board.board.Board`):
`MemoryMiddleware(memory, share="rules", to="all")`. The board belongs to the conversation at the top: its tenant, user
and thread. Each agent that has the memory reads it before its own state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

from acc.board.board import Board, SharedStep
from acc.board.memory import BoardMemory, Controller
from acc.driving import Doing
from acc.errors import ConfigurationError
from acc.integrations.identity import Config, Identify, caller, thread_of
from acc.journal import ThreadKey
from acc.journal.boards import Origin
from acc.step.result import Step
from acc.turn.observations import Channel
from acc.turn.turn import Turn

Share = Literal["rules"] | Board
"""``"rules"`` shares the rules that somebody said to all agents: the operator's, and the user's where ``to="all"`` says
so. A `Board` of your own has its name, user and bound (`acc.board.board.Board`)."""

To = Literal["", "all"] | Callable[[Config], str]
"""Whom the user speaks to: ``"all"`` who read the board, or what a function says of a run's configuration."""

MOST_BOARDS = 256
SPOKEN = (Channel.USER, Channel.OPERATOR)


class Sharing:
    """The boards of a memory's conversations: one for each, or one for all."""

    def __init__(self, controller: Controller, share: Share, to: To, identify: Identify) -> None:
        self._share, self._to, self._identify = share, to, identify
        self._memory = lru_cache(MOST_BOARDS)(partial(BoardMemory, controller))  # type: ignore[arg-type]
        self._named(ThreadKey("any"))

    def of_run(self, config: Config, thread: ThreadKey) -> Shared:
        """Return the board of a run on ``thread``: for a nested run, that of the conversation at the top."""
        above = caller()
        root = above.root if above is not None else thread_of(config, self._identify)
        to = self._to(config) if callable(self._to) else self._to
        board = self._named(root)
        return Shared(self._memory(board), thread, to)

    def _named(self, root: ThreadKey) -> Board:
        if isinstance(self._share, Board):
            return self._share
        if self._share != "rules":
            raise ConfigurationError(
                f"share is {self._share!r}", where="share", hint="give 'rules', or a Board"
            )
        return Board(root.thread, user=root.user)


@dataclass(frozen=True)
class Shared:
    """The board of one run: of the agent of ``thread``, whose user speaks to ``to``."""

    memory: BoardMemory
    thread: ThreadKey
    to: str

    def stepping(self, state: Any, turn: Turn, *, force: bool) -> Doing[Step[Any]]:
        """Take a turn, and share what may be shared."""
        to: Any = self.to if any(o.channel in SPOKEN for o in turn.observations) else ""
        made = yield from self.memory._step(state, turn, thread=self.thread, to=to, force=force)
        return _whole(made)

    def flushing(self, branch: str) -> Doing[Step[Any] | None]:
        """Compress what waits in the agent's tail, and share it."""
        made = yield from self.memory._flush(self.thread, branch=branch)
        return _whole(made) if made is not None else None

    def text(self, own: Any = None) -> str:
        """Return what an agent reads of the board, then its ``own`` state; empty if both are. It blocks."""
        found: str = self.memory.rendered(self.memory._head(self.thread), own)
        return found

    def told(self, ids: Collection[str]) -> set[str]:
        """Return the messages among ``ids`` that another agent has taken and put on the board.

        They are no news from the user. What was ended since would otherwise stand again as soon as one more agent
        reads the conversation from its beginning.
        """
        journal, board = self.memory.memory.journal, self.memory.board
        refs: dict[tuple[ThreadKey, str], set[str]] = {}
        for each in journal.messages(board.key_of(self.thread)):
            origin = Origin.of(each.message)
            if origin is not None and origin.thread != self.thread:
                refs.setdefault((origin.thread, origin.branch), set()).add(origin.ref)
        found = {
            message.observation.message
            for (thread, branch), names in refs.items()
            for message in journal.texts(thread, sorted(names), branch=branch)
        }
        return found & set(ids)

    def evidence(self, ref: str) -> str:
        """Return the text of a message of the board; empty if there is none."""
        key = self.memory.board.key_of(self.thread)
        found = self.memory.memory.journal.texts(key, [ref])
        return found[0].text if found else ""


def _whole(made: SharedStep) -> Step[Any]:
    """Return an agent's step; what stayed private, and why, is among its warnings."""
    return replace(made.step, warnings=(*made.step.warnings, *made.private, *made.warnings))
