"""How an agent in a graph reaches its memory: opened by name, with a board beside it, told in the graph's stream.

The agents of a conversation share the rules that somebody said to all of them (`acc.board.board.Board`):
`MemoryMiddleware(memory, share="rules", to="all")`. The board belongs to the conversation at the top: its tenant, user
and thread. Each agent that has the memory reads it before its own state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from langgraph.config import get_stream_writer

from acc.board.board import Board, SharedStep
from acc.board.memory import BoardMemory
from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.driving import Doing
from acc.errors import ConfigurationError
from acc.folders import expanded
from acc.integrations.identity import Config, Identify, caller, thread_of
from acc.journal import ThreadKey
from acc.journal.boards import Origin
from acc.journal.opened import is_url
from acc.step.step import Step
from acc.turn.observations import Channel
from acc.turn.turn import Turn

Controller = MemoryController[Any] | AsyncMemoryController[Any]

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


def tell(step: Step[Any]) -> None:
    """Send what a step made to the stream (``stream_mode="custom"``), as plain JSON; nothing outside of a graph."""
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):  # no graph is running
        return
    turn = step.state.turn
    is_compressed = any(each.given.proposal is not None for each in step.commits)
    writer({
        "memory": "committed", "turn": turn, "version": step.state.version, "hash": step.state.hash,
        "compressed": is_compressed,
    })  # fmt: skip
    if step.notes:
        writer({"memory": "notes", "turn": turn, "notes": [str(note) for note in step.notes]})
    for warning in (*step.warnings, *filter(None, (step.failure,))):
        writer({"memory": "warning", "turn": turn, "warning": warning})


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
