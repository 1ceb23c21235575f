"""One turn of an agent that shares a board."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from acc.board.board import Board, ref_prefix
from acc.board.half import Checked, Context
from acc.board.view import View
from acc.board.writer import BoardMemory, Origin, overflow_of
from acc.compress.fallback import CompressionRequest, CompressionResult
from acc.errors import PinnedOverflow
from acc.logs import log_event
from acc.pipeline.session import ThreadSession
from acc.pipeline.turn_pipeline import BoardStep, Step, TurnPipeline
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note
from acc.stores.protocol import Thread
from acc.telemetry.observer import Watch
from acc.turn.observations import Channel, Evidence, Trust
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


class SharedTurn(TurnPipeline):
    """A turn whose compressor sees a board beside the agent's state, and whose proposal is split between both."""

    def __init__(
        self,
        session: ThreadSession,
        state: CompressedCognitiveState,
        turn: Turn,
        watch: Watch,
        *,
        board: Board,
        memory: BoardMemory,
    ) -> None:
        super().__init__(session, state, turn, watch)
        self._board = board
        self._boards = memory
        self._place: Thread = board.thread_of(session.thread)
        self._view: View
        self._checked = Checked(None, ())
        self._on_board: BoardStep

    def recall(self) -> None:
        """Recall candidates, and read the board's newest state."""
        super().recall()
        read = self._boards.head(self._place)
        self._on_board = BoardStep(thread=self._place, read=read)
        self._view = View.of(self._board, self._state, read, ref_prefix(self._place.key))

    def _asked(self) -> CompressionRequest:
        asked = super()._asked()
        seen = self._view.state()
        policy = self._view.policy(seen, self._settings.policy, self._board.policy)
        guided = getattr(asked.compressor, "guided", None)
        if guided is not None:
            asked = asked._replace(compressor=guided(self._view.guidance(self._thread.agent)))
        return asked._replace(state=seen, policy=policy)

    def _take(self, answer: CompressionResult) -> CompressionResult:
        """Take the agent's half of the proposal; check the board's half in the context of this turn."""
        taken = super()._take(answer)
        if taken.proposal is None:
            self._evidence += self._view.evidence()
            return taken
        own, board = self._view.split(taken.proposal)
        try:
            half, notes, changed = self._context().checked(board)
        except PinnedOverflow as overflow:
            self._overflow = overflow_of(overflow, self._on_board.read, self._place)
            half, notes, changed = None, (), ()
        self._checked = Checked(half, (*self._view.refused(taken.proposal), *notes))
        self._evidence += self._view.evidence(self._view.cited_by(taken.proposal))
        self._compressed = taken._replace(proposal=own)
        self._tell((*self._checked.notes, *changed))
        return self._compressed

    def _tell(self, notes: Iterable[Note]) -> None:
        """Have the agent's commit tell a model, with the next turn, what the board did not take."""
        own = self._compressed.proposal
        if own is not None and (told := self._view.told(notes)):
            own = own.model_copy(update={"board_notes": (*own.board_notes, *told)})
            self._compressed = self._compressed._replace(proposal=own)

    def _context(self) -> Context:
        """Return all that the agent has read, its own items of low trust too."""
        low = (item for _, item in self._state.items() if item.trust < Trust.AGENT)
        held = (
            Evidence(channel=Channel(i.trust.word), text=i.words, ref=f"item/{i.id}") for i in low
        )
        evidence = [*self._evidence, *held]
        read = self._on_board.read
        return Context(read, self._board.policy, self._turn, evidence, self._behind)

    def commit(self) -> None:
        """Commit the agent's half, unless the board has no room for its own."""
        if self._overflow is None:
            super().commit()

    def persist(self) -> None:
        """Commit the board's half to the board, then persist the agent's commit.

        Raises:
            PinnedOverflow: The rules and goals of the board or of the agent exceed their bounds. The agent
                commits nothing.
            ConflictError: Other agents wrote to the board all the time. The step can be repeated.
        """
        half, notes, _ = self._checked
        if self._overflow is None and half is not None:
            origin = Origin(self._thread, self._state)
            try:
                done, conflicts = self._boards.write(half, self._on_board.read, self._place, origin)
            except PinnedOverflow as overflow:
                self._overflow = overflow
            else:
                self._on_board = self._on_board.model_copy(update={"commit": done})
                notes = (*notes, *conflicts)
                self._tell(conflicts)
                self._done = self._committed() if conflicts else self._done
        self._on_board = self._on_board.model_copy(update={"notes": notes})
        for note in notes:
            log_event(
                _LOG, logging.WARNING, "board_note", "a board did not take all of a proposal",
                board=self._place.thread, reason=note.reason.value, slot=note.slot, item=note.item,
            )  # fmt: skip
        super().persist()

    @property
    def step(self) -> Step:
        """The result of the step, with what was done on the board."""
        return super().step.model_copy(update={"board": self._on_board})

    def _record(self) -> dict[str, Any]:
        done = self._on_board
        board = {
            "thread": done.thread.model_dump(),
            "read": done.read.hash,
            "made": done.commit.state.hash if done.commit is not None else "",
            "notes": [note.model_dump(mode="json") for note in done.notes],
        }
        return {**super()._record(), "board": board}

    def _behind(self, ref: str) -> Evidence | None:
        """Return an earlier observation of the agent's thread as evidence, or None."""
        parts = self._branch.parts(ref)
        if not parts or parts[0].kind != "observation":
            return None
        first = parts[0]
        return Evidence(
            channel=first.channel, text=self._branch.text(ref), name=first.name, call_id=first.call_id,
            ref=ref, at=first.when, turn=first.turn, standing=first.trust,
        )  # fmt: skip
