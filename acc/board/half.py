"""The board's half of a proposal, checked in the agent's whole context before any of it goes to the board.

The board's turn holds only what its half cites. A law may need more than that to judge: a text of a tool that the
agent repeats, or the question that a plain yes answers. So each half is committed twice on the board's state,
purely: once with all that the agent has read, once with what would go to the board. Only what comes out the same is
written. What the first commit refuses is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from acc.commit.commit import Commit, commit
from acc.commit.draft import DOUBT_TURNS, Draft
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem
from acc.state.reasons import REFUSALS, Note, Reason
from acc.turn.observations import Channel, Evidence, Observation, Trust
from acc.turn.turn import Turn

HERE = "here/"
"""What stands before the agent's refs in a board's half: the board's own refs have the same form."""

MOST = 64
"""Maximum number of items and of retirements in a board's half; further ones are refused unread."""


Said = TypeVar("Said", bound=Observation)


@dataclass(frozen=True)
class Half:
    """What one turn of an agent writes to a board.

    Attributes:
        proposal: The proposal, with the board's ids, and the agent's refs after `HERE`.
        said: The agent's observations that it needs, in order, with such refs.
        at: When the agent's turn happened.
    """

    proposal: Proposal
    said: tuple[Observation, ...] = ()
    at: str = ""

    def turn(self, board: CompressedCognitiveState) -> Turn:
        """Return the board's turn after ``board``, for a trial: its refs are not the board's yet."""
        return Turn(
            observations=self.said, number=board.turn + 1, pending=board.unread(), at=self.at
        )

    def on(self, board: CompressedCognitiveState, policy: Policy) -> Commit:
        """Commit the half on ``board``, purely.

        Raises:
            PinnedOverflow: The board's rules and goals exceed its bounds.
        """
        return commit(board, self.proposal, self.turn(board), (), policy)


class Checked(NamedTuple):
    """A half that may be written, None if nothing is to be written; and notes on what was refused."""

    half: Half | None
    notes: tuple[Note, ...]


class Outcome(NamedTuple):
    """What a commit leaves in force: items without their ids, and the doubts that have not run out."""

    items: frozenset[tuple[object, ...]]
    doubted: frozenset[str]


def outcome(state: CompressedCognitiveState, number: int) -> Outcome:
    """Return what ``state`` leaves in force after turn ``number``."""
    items = frozenset(
        (slot.name, item.words, item.trust, item.endorsed, *(getattr(item, a) for a in item.asides))
        for slot, item in state.items()
        if item.is_open
    )
    return Outcome(items, frozenset(d.id for d in state.doubted if d.turn > number - DOUBT_TURNS))


def changes(done: Commit, board: CompressedCognitiveState, turn: Turn) -> bool:
    """Return whether a commit on ``board`` changed anything beside the time of last use."""
    aged = Draft(board, turn).state()
    return outcome(done.state, turn.number) != outcome(
        aged.model_copy(update={"turn": turn.number}), turn.number
    )


class Context:
    """All that an agent has read in its turn, to judge the board's half of a proposal.

    Args:
        board: The board's state.
        policy: The board's policy.
        turn: The agent's turn.
        evidence: What the agent recalled, and its own items of low trust.
        behind: Returns the observation behind a ref of the agent's thread, or None.

    The texts get refs after `HERE`.
    """

    def __init__(
        self,
        board: CompressedCognitiveState,
        policy: Policy,
        turn: Turn,
        evidence: Sequence[Evidence],
        behind: Callable[[str], Evidence | None],
    ) -> None:
        self._board = board
        self._policy = policy
        turn = _away(turn)
        self._turn = turn
        self._behind = behind
        self._evidence = tuple(map(_renamed, evidence))
        self._fresh = _in_order(turn)
        reply = (turn.reply,) if turn.reply is not None else ()
        self._known: dict[str, Observation] = {
            o.ref: o for o in (*self._evidence, *reply, *self._fresh)
        }
        between = turn.reply if turn.pending else None
        self._whole = Turn(
            observations=self._fresh, number=board.turn + 1, pending=board.unread(),
            reply=None if between else turn.reply, heard=turn.heard, at=turn.at,
        )  # fmt: skip

    def checked(self, proposal: Proposal) -> Checked:
        """Return the part of the board's half that the laws allow in the whole context.

        Raises:
            PinnedOverflow: The board's rules and goals would exceed its bounds.
        """
        half, notes = self._checked(proposal)
        named = (n.model_copy(update={"detail": n.detail.replace(HERE, "")}) for n in notes)
        return Checked(half, tuple(named))

    def _checked(self, proposal: Proposal) -> Checked:
        if self._has_nothing(proposal):
            return Checked(None, ())
        self._read(proposal)
        allowed, notes = self._allowed(proposal)
        wanted = outcome(self._commit(allowed).state, self._whole.number)
        if wanted == outcome(self._aged, self._whole.number):
            return Checked(None, tuple(notes))
        for half in self._halves(allowed):
            done = half.on(self._board, self._policy)
            if outcome(done.state, self._whole.number) == wanted:
                return Checked(half, tuple(notes))
        return self._without_private(allowed, notes)

    def _has_nothing(self, proposal: Proposal) -> bool:
        """Return whether there is nothing to judge: no proposal, no doubt to answer, no rule to expire."""
        ends = any(item.dated and item.dated.until for _, item in self._board.items())
        return not (proposal.items or proposal.retire or self._board.doubted or ends)

    @property
    def _aged(self) -> CompressedCognitiveState:
        return Draft(self._board, self._whole).state()

    def _read(self, proposal: Proposal) -> None:
        """Read the earlier observations that the proposal cites, as evidence: they make no rule."""
        for ref in sorted(_cited(proposal)):
            found = self._behind(ref.removeprefix(HERE)) if ref not in self._known else None
            if found is not None and ref.startswith(HERE):
                self._evidence = (*self._evidence, _renamed(found))
                self._known[ref] = self._evidence[-1]

    def _commit(self, proposal: Proposal) -> Commit:
        return commit(self._board, proposal, self._whole, self._evidence, self._policy)

    def _allowed(self, proposal: Proposal) -> tuple[Proposal, list[Note]]:
        """Return the parts of ``proposal`` that change the board, and the notes on the others."""
        notes: list[Note] = []
        if (many := max(len(proposal.items), len(proposal.retire))) > MOST:
            notes.append(Note(reason=Reason.FLOOD, detail=f"{many - MOST} for the board not read"))
        bare = proposal.model_copy(update={"items": (), "retire": ()})
        retire = tuple(
            gone
            for gone in proposal.retire[:MOST]
            if self._does(bare.model_copy(update={"retire": (gone,)}), bare, notes)
        )
        bare = bare.model_copy(update={"retire": retire})
        items = [
            item
            for item in proposal.items[:MOST]
            if self._does(bare.model_copy(update={"items": (item,)}), bare, notes)
        ]
        return bare.model_copy(update={"items": tuple(items)}), notes

    def _does(self, proposal: Proposal, without: Proposal, notes: list[Note]) -> bool:
        done, before = self._commit(proposal), self._commit(without)
        number = self._whole.number
        if outcome(done.state, number) != outcome(before.state, number):
            return True
        told = (n for n in done.notes if n.reason in REFUSALS and n not in before.notes)
        notes += [n for n in told if n not in notes]
        return False

    def _halves(self, proposal: Proposal) -> Iterator[Half]:
        """Yield halves that hold ever more of the agent's turn; the first one that suffices is written."""
        cited = _cited(proposal)
        yield self._half(proposal, cited)
        yield self._half(proposal, self._with_questions(cited))
        if self._board.doubted:
            spoken = [o.ref for o in self._fresh if o.trust >= Trust.USER]
            yield self._half(proposal, self._with_questions({*cited, *spoken}))
        true = self._with_true_sources(proposal)
        yield self._half(true, self._with_questions(_cited(true)))

    def _half(self, proposal: Proposal, refs: Iterable[str]) -> Half:
        wanted = set(refs)
        fresh = {o.ref for o in self._fresh}
        old = [self._known[r] for r in wanted - fresh if r in self._known]
        said = [
            _plain(o)
            for o in sorted(old, key=lambda e: (getattr(e, "turn", self._turn.number), e.ref))
        ]
        said += [o for o in self._fresh if o.ref in wanted]
        return Half(proposal, tuple(said), self._turn.at)

    def _with_questions(self, refs: Iterable[str]) -> set[str]:
        """Add the agent's words that cited words of the user answer, such as a plain yes."""
        asked = (self._whole.reply_before(ref) for ref in refs)
        return {*refs, *(o.ref for o in asked if o is not None)}

    def _with_true_sources(self, proposal: Proposal) -> Proposal:
        """Cite the tool or document that an item's words repeat, as commit would weigh them."""
        items = []
        for item in proposal.items:
            alone = self._commit(proposal.model_copy(update={"items": (item,)}))
            lowered = (
                n.detail.rpartition(" ")[2] for n in alone.notes if n.reason is Reason.LOWERED
            )
            cites = (*item.cites, *(ref for ref in lowered if ref in self._known))
            items.append(item.model_copy(update={"cites": tuple(dict.fromkeys(cites))}))
        return proposal.model_copy(update={"items": tuple(items)})

    def _without_private(self, proposal: Proposal, notes: list[Note]) -> Checked:
        """Leave out each item that cannot be judged without texts that stay the agent's own."""
        kept: list[ProposedItem] = []
        for item in proposal.items:
            alone = proposal.model_copy(update={"items": (*kept, item)})
            wanted = outcome(self._commit(alone).state, self._whole.number)
            if any(self._same(half, wanted) for half in self._halves(alone)):
                kept.append(item)
            else:
                text = " ".join(map(str, item.fields.values()))[:400]
                notes.append(Note(reason=Reason.BOARD_PRIVATE, slot=item.slot, text=text))
        rest = proposal.model_copy(update={"items": tuple(kept)})
        wanted = outcome(self._commit(rest).state, self._whole.number)
        half = next((h for h in self._halves(rest) if self._same(h, wanted)), None)
        if half is None:
            notes += [Note(reason=Reason.BOARD_PRIVATE, item=r.id) for r in rest.retire]
        return Checked(half, tuple(notes))

    def _same(self, half: Half, wanted: Outcome) -> bool:
        done = half.on(self._board, self._policy)
        return outcome(done.state, self._whole.number) == wanted


class Rebased(NamedTuple):
    """A half for a newer state of the board, and the conflicts with what others did meanwhile."""

    half: Half
    conflicts: tuple[Note, ...]


def rebased(half: Half, read: CompressedCognitiveState, head: CompressedCognitiveState) -> Rebased:
    """Return ``half``, which was proposed on ``read``, for the board's state ``head``.

    What others have changed or ended meanwhile is left as it is. A new item on a subject that another agent has
    settled meanwhile stands beside it as a hypothesis, if its type has a status. Each conflict has a note.
    """
    if read.hash == head.hash:
        return Rebased(half, ())
    conflicts: list[Note] = []

    def still(item_id: str) -> bool:
        old, new = read.find(item_id), head.find(item_id)
        if old is None or (new is not None and new[1].words == old[1].words):
            return True
        detail = f"now: {new[1].words}" if new else "another agent ended it meanwhile"
        conflicts.append(_conflict(old[0].name, old[1].words, detail, item_id))
        return False

    items = []
    for item in (i for i in half.proposal.items if not i.id or still(i.id)):
        rival = _rival(item, read, head)
        if rival is None:
            items.append(item)
            continue
        is_kept = "status" in type(rival).own_fields()
        beside = "kept beside as a hypothesis" if is_kept else "not written"
        text = " ".join(map(str, item.fields.values()))
        conflicts.append(_conflict(item.slot, text, f"{beside}: {rival.id} {rival.words}"))
        if is_kept:
            fields = {**item.fields, "status": "hypothesis"}
            items.append(item.model_copy(update={"fields": fields}))
    retire = tuple(r for r in half.proposal.retire if still(r.id))
    proposal = half.proposal.model_copy(update={"items": tuple(items), "retire": retire})
    return Rebased(replace(half, proposal=proposal), tuple(conflicts))


def _rival(
    item: ProposedItem, read: CompressedCognitiveState, head: CompressedCognitiveState
) -> Item | None:
    """Return the item on the same subject that another agent has written since ``read``, or None."""
    slot = type(head).slots().get(item.slot)
    if item.id or slot is None or slot.rules.quote:
        return None  # of rules and goals commit knows which say the same
    about = tuple(str(item.fields.get(name, "")).casefold() for name in slot.item.key)
    words = " ".join(str(item.fields.get(n, "")) for n in slot.item.shown_fields())
    for other in getattr(head, slot.name):
        old = read.find(other.id)
        is_new = old is None or old[1].words != other.words
        if is_new and other.about[: len(about)] == about and not words.startswith(other.words):
            return other  # type: ignore[no-any-return]
    return None


def _conflict(slot: str, text: str, detail: str, item_id: str = "") -> Note:
    return Note(
        reason=Reason.BOARD_CONFLICT, slot=slot, item=item_id, text=text[:400], detail=detail[:400]
    )


def _cited(proposal: Proposal) -> set[str]:
    return {
        *(cite for item in proposal.items for cite in item.cites),
        *(cite for gone in proposal.retire for cite in gone.cites),
    }


def _in_order(turn: Turn) -> tuple[Observation, ...]:
    """Return the turn's observations in order; the reply stands between pending and new ones."""
    between = (turn.reply,) if turn.reply is not None and turn.pending else ()
    return (*turn.pending, *between, *turn.observations)


def _away(turn: Turn) -> Turn:
    """Return the agent's turn with refs that no item of the board names."""
    renamed: dict[str, object] = {
        name: tuple(map(_renamed, getattr(turn, name)))
        for name in ("observations", "pending", "heard")
    }
    reply = _renamed(turn.reply) if turn.reply is not None else None
    return turn.model_copy(update={**renamed, "reply": reply})


def _renamed(said: Said) -> Said:
    return said.model_copy(update={"ref": HERE + said.ref})


def _plain(evidence: Observation) -> Observation:
    """Return recalled evidence as an observation, with the channel of its trust."""
    fields = {n: getattr(evidence, n) for n in Observation.model_fields}
    lower = Channel(evidence.trust.word) if evidence.trust < evidence.channel.trust else None
    return Observation(**{**fields, "channel": lower or evidence.channel})
