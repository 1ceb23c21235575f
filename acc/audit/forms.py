"""Commits under an earlier form of their schema: what can be proved of them without that form.

A schema may get a slot, a field, more places or other guidance. Its policies then have another
fingerprint, and commits from before can be recomputed byte for byte only with the schema as it was. Under
the present form, the same inputs mostly give the same items; then nobody needs the old file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.audit.record import damaged
from acc.audit.redaction import state_hash
from acc.commit.commit import commit
from acc.errors import AccError, AuditError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reasons import Reason
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

Record = Mapping[str, Any]

_OF_FORM = {"hash", "parent", "policy", "signature"}
"""Fields of a state that differ from form to form although the content is the same."""


class UnderOtherForm(NamedTuple):
    """A commit under a form of its schema that is not given.

    Attributes:
        line: Its line in the log.
        schema: The name of the state class.
        fingerprint: The fingerprint of the commit's policy.
        is_same: Whether the given form makes the same items and notes from the same inputs.
    """

    line: int
    schema: str
    fingerprint: str
    is_same: bool


def loaded(state: Any, policy: Policy | None) -> CompressedCognitiveState | None:
    """Return a recorded state under a policy's schema; None if it does not load, as after an erasure."""
    try:
        return policy.schema.load(state) if policy else None
    except AccError:
        return None


def content(state: CompressedCognitiveState, *without: str) -> dict[str, Any]:
    """Return a state without the fields that depend on the form of its schema."""
    return {k: v for k, v in state.canonical().items() if k not in _OF_FORM.union(without)}


def is_same_under(policy: Policy, entry: Record, before: Record, owner: str) -> bool:
    """Return whether ``policy`` makes the recorded items and notes from the inputs of a record.

    ``before`` is the previous state of the log, which a record without a prior state continues.
    """
    made = loaded(entry["state"], policy)
    prior = loaded(entry.get("prior_state", before), policy)
    if made is None or prior is None:
        return False
    try:
        again = commit(
            prior,
            Proposal.model_validate(entry["proposal"]) if entry["proposal"] else None,
            Turn.model_validate(entry["turn"]),
            [Evidence.model_validate(e) for e in entry["evidence"]],
            policy,
            bound_to=owner,
        )
    except (AccError, ValidationError, KeyError, TypeError):
        return False
    notes = [note.model_dump(mode="json") for note in again.notes]
    is_same_state = content(made) == content(again.state)
    return is_same_state and _lasting(entry["notes"]) == _lasting(notes)


def _lasting(notes: Iterable[Record]) -> list[Record]:
    # In an item's words, a field without a value leaves a space.
    return [
        {**note, "text": " ".join(note["text"].split())}
        for note in notes
        if note["reason"] != Reason.POLICY_CHANGED.value
    ]


def check_in_order(entry: Record, before: Record, where: str) -> None:
    """Raise an `AuditError` unless a record's state is intact and follows the state that it continues."""
    made, prior = entry["state"], entry.get("prior_state", before)
    if state_hash(made) != made["hash"] or (prior and state_hash(prior) != prior["hash"]):
        raise damaged("a state was changed after its commit", where)
    follows = (
        made["parent"] == entry["prior"] == prior.get("hash", entry["prior"])
        and made["policy"] == entry["policy"]["fingerprint"]
        and made["version"] == prior.get("version", 0) + 1
    )
    if not follows:
        raise damaged("the state does not follow the state before it", where)


def check_is_earlier(policy: Policy, recomputed: Iterable[str], where: str) -> None:
    """Raise an `AuditError` if commits under a given form of this schema came before.

    ``recomputed`` names the state classes of recomputed commits. A thread may take up a subclass of its
    schema. Otherwise, anybody could append commits and say that another form made them.
    """
    parents = {base.__name__ for base in policy.schema.__mro__[1:]}
    if set(recomputed) - parents:
        raise AuditError(
            f"the commit was made under a form of {policy.schema.__name__} that is not given, after commits "
            "under a given form",
            where=where,
            hint="give the file of the schema as it was then, too (acc verify --schema NOW.py --schema THEN.py)",
        )
