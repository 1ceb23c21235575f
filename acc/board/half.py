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
from acc.commit.draft import DOUBT_TURNS, TOLD, Draft
from acc.keyless.overflow import without_overflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem
from acc.state.reasons import REFUSALS, Note, Reason
from acc.text.clauses import sentences
from acc.text.tokens import TokenCounter
from acc.text.wording import stems
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
    """A half that may be written, None if nothing is to be written; and notes on what was refused.

    ``changed`` has the notes on what a commit on the board changes of the half, such as a wording.
    """

    half: Half | None
    notes: tuple[Note, ...]
    changed: tuple[Note, ...] = ()


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
        self._changed: list[Note] = []
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
        half, notes, _ = self._checked(proposal)
        return Checked(half, _bare(notes), _bare(self._changed) if half is not None else ())

    def _checked(self, proposal: Proposal) -> Checked:
        if self._has_nothing(proposal):
            return Checked(None, ())
        self._read(proposal)
        bounds = _Bounds(self._policy, self._policy.max_tokens, self._policy.counter)
        fits = without_overflow(proposal, self._whole, self._board, self._evidence, bounds)
        allowed, notes = self._allowed(fits.model_copy(update={"remarks": (), "unread": ()}))
        notes += [Note(reason=Reason.NO_ROOM, slot=r.slot, text=r.text) for r in fits.remarks]
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
        ends = any(i.dated and i.dated.until and i.is_open for _, i in self._board.items())
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
        before = self._commit(bare)
        retire = tuple(
            gone
            for gone in proposal.retire[:MOST]
            if self._does(bare.model_copy(update={"retire": (gone,)}), before, notes)
        )
        bare = bare.model_copy(update={"retire": retire})
        before = self._commit(bare) if retire else before
        items = [
            item
            for item in proposal.items[:MOST]
            if self._does(bare.model_copy(update={"items": (item,)}), before, notes)
        ]
        return bare.model_copy(update={"items": tuple(items)}), notes

    def _does(self, proposal: Proposal, before: Commit, notes: list[Note]) -> bool:
        """Return whether ``proposal`` changes more than the commit ``before``; else note what was refused."""
        done = self._commit(proposal)
        number = self._whole.number
        told = [n for n in done.notes if n.reason in TOLD and n not in before.notes]
        if outcome(done.state, number) != outcome(before.state, number):
            self._changed += told
            return True
        notes += [n for n in told if n.reason in REFUSALS and n not in notes]
        return False

    def _halves(self, proposal: Proposal) -> Iterator[Half]:
        """Yield halves that hold ever more of the agent's turn; the first one that suffices is written."""
        cited = _cited(proposal)
        yield _excerpted(self._half(proposal, cited))
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
                notes.append(_private(slot=item.slot, text=text))
        rest = proposal.model_copy(update={"items": tuple(kept)})
        wanted = outcome(self._commit(rest).state, self._whole.number)
        half = next((h for h in self._halves(rest) if self._same(h, wanted)), None)
        if half is None:
            notes += [_private(item=gone.id) for gone in rest.retire]
        return Checked(half, tuple(notes))

    def _same(self, half: Half, wanted: Outcome) -> bool:
        done = half.on(self._board, self._policy)
        return outcome(done.state, self._whole.number) == wanted


def _bare(notes: Iterable[Note]) -> tuple[Note, ...]:
    return tuple(n.model_copy(update={"detail": n.detail.replace(HERE, "")}) for n in notes)


def _private(**about: str) -> Note:
    return Note(
        reason=Reason.BOARD_PRIVATE, detail="it rests on texts that stay this agent's own", **about
    )


@dataclass
class _Bounds:
    """The board's bounds, for `without_overflow`: a goal that finds no room ends no step."""

    of: Policy
    max_tokens: int
    counter: TokenCounter

    def policy(self, schema: type[CompressedCognitiveState]) -> Policy:
        return self.of


def _excerpted(half: Half) -> Half:
    """Return the half with only those sentences of each message that share words with its proposal."""
    fields = (value for item in half.proposal.items for value in item.fields.values())
    words = stems(" ".join([*map(str, fields), *(gone.quote for gone in half.proposal.retire)]))
    return replace(half, said=tuple(_excerpt(o, words) for o in half.said))


def _excerpt(said: Observation, words: frozenset[str]) -> Observation:
    text = "\n".join(s.strip() for s in sentences(said.text) if stems(s) & words)
    left_out = said.left_out + len(said.text) - len(text)
    return said.model_copy(update={"text": text, "left_out": left_out}) if text else said


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
