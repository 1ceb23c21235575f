"""What the tests of the keyless compressor share: turns in which somebody speaks."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from acc.commit.commit import commit
from acc.keyless.compressor import RuleCompressor
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem
from acc.turn.observations import Channel, Evidence, Observation, user_observations
from acc.turn.turn import Turn

compress = RuleCompressor()
State = CompressedCognitiveState


def turn(said: str = "", agent: str = "", tool: str = "", reply: str = "", number: int = 1) -> Turn:
    """A turn in which the user speaks, a tool answers and the agent answers."""
    seen = list(user_observations(said)) if said else []
    if tool:
        seen.append(Observation(channel=Channel.TOOL, text=tool, name="lookup"))
    if agent:
        seen.append(Observation(channel=Channel.AGENT, text=agent))
    before = Observation(channel=Channel.AGENT, text=reply, ref=f"a{number - 1}") if reply else None
    return Turn(observations=tuple(seen), reply=before).numbered(number)


def proposed(
    slot: str, at: Turn, state: State | None = None, evidence: Sequence[Evidence] = ()
) -> list[ProposedItem]:
    proposal = compress(at, state or State.empty(), evidence)
    return [item for item in proposal.items if item.slot == slot]


def rules(said: str) -> list[ProposedItem]:
    return proposed("constraints", turn(said))


def after(*turns: Turn) -> State:
    """The state after these turns, committed one by one."""
    state = State.empty()
    for at in turns:
        at = at.numbered(state.turn + 1)
        state = commit(state, compress(at, state, ()), at).state
    return state


def facts(at: Turn) -> set[tuple[str, str, str]]:
    found = proposed("relational_map", at)
    return {(i.fields["subject"], i.fields["predicate"], i.fields["object"]) for i in found}


def retired(said: str, state: State) -> tuple[list[str], Proposal]:
    """The texts of the rules that the user's words end, and all that is proposed."""
    proposal = compress(turn(said, number=state.turn + 1), state, ())
    pinned = {item.id: item.text for item in state.constraints}
    return [pinned[r.id] for r in proposal.retire if r.id in pinned], proposal


WORDS = (
    *("never", "only", "the", "is", "12", "£9,000", "until", "Dana", "says", "no longer", "db-7"),
    *(",", ";", ":", ".", "?", "!", "and", "or", "I", "you", "must", "if", "instead", "18 May"),
    *("v1.2.3", "a@b.c", "x=y", "key: value", "[pasted]", "haha", "to", "of", "at", "every"),
    *("1e9", "٣", "²", "½", "we're", "people", "\n", "Harbour House", "done", "yes", "I'd go for"),
)
HOSTILE = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="aA1 .,;:!?'\"-–_/@£€$%()[]{}\n\t\r\x00\u202e\ud800😂Ééß", max_size=400),
    st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join),
)
