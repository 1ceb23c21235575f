"""C_theta, second half: `commit` checks, bounds and replaces the state. The only writer of state.

Pure: no clock, no I/O, no randomness. The same state, turn, evidence, proposal and policy give
the same next state, to the byte (law 10). The table of the laws is ``docs/laws.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr, SerializeAsAny

from acc.commit.bounds import fit
from acc.commit.dating import date_items, expire
from acc.commit.draft import Draft, commit_unchanged, leave_unread
from acc.commit.integrity import Sources
from acc.commit.pinning import confirm, retire, retire_joined
from acc.commit.proposed_items import write
from acc.errors import ConfigurationError
from acc.state.items import one_line
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reasons import EVICTIONS, REFUSALS, EvictedItem, Note, Reason
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

LAWS = 7
"""Version of the laws; it increases when the same inputs can produce a different state.

Version 1 covers records from before rules had to be extracts of the user's words. Version 2 covers records
from before a phrase that only a tool or document said counted as theirs, before a lifting had to name
what it ends, and before rules could state what their pronouns refer to. Version 3 covers records from before
a doubted rule was shown apart for some turns, and before an update could join items. Version 4 covers records from
before a second reading, before a figure of the same unit and size ended a rule, before a state named what was evicted
from it, and before items had a time, rules could expire, and lowered labels had a note. Version 5 covers records
from before what a tool's or document's item says kept that source's trust when a new item cited the user for it.
Version 6 covers records from before words about one case, and a yes to a question about an act, ended no rule,
before facts and slots with a status showed a low trust, which the bound counts, and before a state kept an operator's
notice for the turn that follows his act.
"""


class Commit(BaseModel):
    """The result of a commit.

    Attributes:
        state: CCS_t, which replaces CCS_t-1.
        notes: Every change and refusal, with its reason.
        set_aside: Items that left the state, for the store.
        tokens: Tokens of the rendered state.
        failure: Why the compressor of `update_state` failed; empty otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: SerializeAsAny[CompressedCognitiveState]
    notes: tuple[Note, ...]
    set_aside: tuple[EvictedItem, ...]
    tokens: int
    failure: str = ""

    _canonical: dict[str, Any] | None = PrivateAttr(default=None)

    def canonical(self) -> dict[str, Any]:
        """Return the state's canonical dict. Do not modify it: calls may return the same object."""
        return self._canonical or self.state.canonical()

    def signed(self, signature: str) -> Commit:
        """Return a copy of the commit with the signature in its state."""
        state = self.state.model_copy(update={"signature": signature})
        done = self.model_copy(update={"state": state})
        done._canonical = {**self.canonical(), "signature": signature}
        return done

    @property
    def held(self) -> bool:
        """Whether the compression failed and the last items were kept (law 9)."""
        return any(note.reason is Reason.HELD for note in self.notes)

    @property
    def refused(self) -> tuple[Note, ...]:
        """Notes on proposed changes that were refused."""
        return tuple(note for note in self.notes if note.reason in REFUSALS)

    @property
    def evicted(self) -> tuple[Note, ...]:
        """Notes on items evicted to make room."""
        return tuple(note for note in self.notes if note.reason in EVICTIONS)

    def explain(self) -> str:
        """Describe changes, refusals and their reasons, one per line."""
        quiet = (Reason.LAPSED, Reason.CARRIED, Reason.CITES_NARROWED)
        lines = [str(note) for note in self.notes if note.reason not in quiet]
        if self.failure:
            lines.insert(0, f"compression failed: {self.failure}")
        return "\n".join(lines) or "nothing changed"


def commit(
    state: CompressedCognitiveState,
    proposal: Proposal | None,
    turn: Turn,
    evidence: Sequence[Evidence] = (),
    policy: Policy | None = None,
    *,
    bound_to: str = "",
) -> Commit:
    """Make CCS_t from CCS_t-1 and a proposal, under the ten laws.

    Args:
        state: CCS_t-1.
        proposal: The compressor's proposal; None if it failed, which keeps the items.
        turn: x_t, with the number after the state's turn, and with the state's pending observations.
        evidence: Qualified artifacts.
        policy: Schema and bounds; None uses the defaults of the state's class.
        bound_to: `acc.stores.protocol.Thread.owner_key` of the thread; empty keeps that of ``state``.

    Returns:
        The commit with the next state, hashed and chained to ``state``.

    Raises:
        PinnedOverflow: Rules and active goals alone exceed the bounds; nothing is committed.
        ConfigurationError: The turn or the policy does not belong to this state.
    """
    policy = policy or Policy(schema=type(state))
    _check(state, turn, policy)
    draft = _drafted(state, turn, policy, bound_to)
    if proposal is None:
        commit_unchanged(draft, policy)
    elif not _applied(draft, proposal, Sources(state, turn, evidence), policy):
        draft = _drafted(state, turn, policy, bound_to)
        draft.note(Reason.MALFORMED, detail="nothing usable in the proposal")
        commit_unchanged(draft, policy)
    date_items(draft, evidence)
    tokens = fit(draft, policy)
    sealed, canonical = draft.state(policy.fingerprint).sealed_and_canonical()
    done = Commit(
        state=sealed, notes=tuple(draft.notes), set_aside=tuple(draft.set_aside), tokens=tokens
    )
    done._canonical = canonical
    return done


def _drafted(state: CompressedCognitiveState, turn: Turn, policy: Policy, bound_to: str) -> Draft:
    draft = Draft(state, turn, bound_to, policy.lifting)
    expire(draft)
    if state.policy and state.policy != policy.fingerprint:
        draft.note(Reason.POLICY_CHANGED, detail=f"{state.policy} -> {policy.fingerprint}")
    return draft


def _applied(draft: Draft, proposal: Proposal, sources: Sources, policy: Policy) -> bool:
    """Apply ``proposal``; return False if nothing of it is usable (law 9).

    That is a rewrite that writes nothing, or a proposal whose items name no existing slot.
    """
    draft.lapse()
    draft.is_models = proposal.account is not None
    draft.board_notes = proposal.board_notes
    draft.confirmed = frozenset(proposal.confirmed)
    if not proposal.reads_turn:
        leave_unread(draft, policy, {ref for gone in proposal.retire for ref in gone.cites})
    else:
        if proposal.unread:
            said = (*draft.turn.pending, *draft.turn.observations)
            leave_unread(draft, policy, {o.ref for o in said}.difference(proposal.unread))
        if folded := [o.ref for o in draft.before.pending if o.ref not in proposal.unread]:
            draft.note(Reason.FOLDED, detail=" ".join(folded))
    _remarked(draft, proposal)
    confirm(draft)
    joined = {ref for item in proposal.items for ref in item.cites}
    retire(draft, proposal.retire, sources, joined)
    write(draft, proposal.items, sources)
    retire_joined(draft, proposal.retire, joined)
    _keep(draft, proposal.keep)
    if proposal.items and all(item.slot not in draft.slots for item in proposal.items):
        return False
    return proposal.mode == "revise" or _left_out(draft)


def _keep(draft: Draft, ids: Sequence[str]) -> None:
    """Count the items with these ids as touched, so that others are evicted first."""
    wanted = dict.fromkeys(ids)
    for slot, item in list(draft.placed()):
        if item.id in wanted:
            draft.change(slot, item)
            draft.note(Reason.CARRIED, slot.name, item)
    known = {item.id for _, item in draft.placed()}
    if unknown := [each for each in wanted if each not in known]:
        draft.note(Reason.UNKNOWN_ITEM, detail=f"keep {' '.join(unknown)}"[:200])


def _remarked(draft: Draft, proposal: Proposal) -> None:
    """Note what the compressor could not read, and what it left out for want of room; each once."""
    known = {o.ref: o for o in draft.turn.unread}
    for remark in dict.fromkeys(proposal.remarks):
        said = known.get(remark.ref)
        if said is None:
            continue
        if remark.code == "no_room":
            detail = f"{remark.ref}: the compressor left it out"
            draft.note(Reason.NO_ROOM, remark.slot, text=remark.text, detail=detail)
        else:
            detail = f"{remark.ref}: not English, so no rule or fact was looked for in it"
            draft.note(Reason(remark.code), text=one_line(said.text)[:80], detail=detail)


def _left_out(draft: Draft) -> bool:
    """Evict the unpinned items that a rewrite does not mention; return False if it touched no item."""
    now = draft.turn.number
    placed = list(draft.placed())
    left_out = [(slot, item) for slot, item in placed if item.touched != now]
    if len(left_out) == len(placed):
        return False
    for slot, item in left_out:
        if slot.binds(item):
            draft.note(Reason.CARRIED, slot.name, item, detail="not in the rewrite")
        else:
            draft.remove(slot, item, Reason.LEFT_OUT)
    return True


def _check(state: CompressedCognitiveState, turn: Turn, policy: Policy) -> None:
    if type(state) is not policy.schema:
        raise ConfigurationError(
            f"the policy is for {policy.schema.__name__}, but the state is a {type(state).__name__}",
            where="commit",
            hint="pass a Policy with schema=type(state)",
        )
    if [(o.ref, o.text) for o in turn.pending] != [(o.ref, o.text) for o in state.pending]:
        raise ConfigurationError(
            "the turn lacks the state's pending observations",
            where="commit",
            hint='add them: turn.model_copy(update={"pending": state.unread()})',
        )
    seeding = turn.number == 0 and state.version == 0
    if turn.number != state.turn + 1 and not seeding:
        raise ConfigurationError(
            f"turn {turn.number} does not follow the state's turn {state.turn}",
            where="commit",
            hint=f"number the turn: turn.numbered({state.turn + 1})",
        )
