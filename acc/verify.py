"""Recomputing an audit log: every commit, from all that it was made from (law 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from acc.audit import AuditLog, changed, digest_of
from acc.commit import commit
from acc.compress import Proposal
from acc.errors import AccError, AuditError
from acc.evidence.tombstone_commits import check_tombstone
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn

_NEEDED = ("policy", "prior", "turn", "evidence", "proposal", "state", "notes")


def verify(
    log: AuditLog,
    policies: Mapping[str, Policy],
    *,
    head: str = "",
    redacted: list[int] | None = None,
) -> int:
    """Recompute every commit of ``log``.

    What an erasure redacted cannot be recomputed: its place in the chain is proved, and that a
    tombstone commit accounts for it, which takes items out and changes nothing else.

    Args:
        log: The log.
        policies: Policy by fingerprint: those the thread was ever run under.
        head: Hash of the state that should be the newest; found by the caller elsewhere.
        redacted: Takes the lines of the commits that an erasure left nothing to recompute from.

    Returns:
        Number of commits, all of which came out the same, to the byte, the redacted ones aside.

    Raises:
        AuditError: The first record that does not hold; says which line, and what.
    """
    state: CompressedCognitiveState | None = None
    told: dict[str, Mapping[str, Any]] = {}
    newest: Mapping[str, Any] = {}
    digest = ""
    count = 0
    gone: list[int] = redacted if redacted is not None else []
    accounted = redactions = 0
    for count, entry in enumerate(log.records(), 1):
        where = f"{log.path}, line {count}"
        if entry.get("previous") != digest:
            raise AuditError(
                "a record is missing or out of place",
                where=where,
                mend="restore the log from a backup",
            )
        digest = str(entry.get("digest"))
        if digest != digest_of(entry):
            raise changed(where)
        missing = [key for key in _NEEDED if key not in entry]
        if missing:
            raise AuditError(f"the record has no {missing[0]!r}", where=where)
        if "erasure" in entry:
            check_tombstone(entry, told.get(entry["state"]["branch"], {}), where)
            accounted += int(entry["erasure"]["redacted"])
            state = _loaded(entry, policies)
        elif entry.get("redacted") or (state is None and newest and "prior_state" not in entry):
            gone.append(count)
            state = _loaded(entry, policies)
        else:
            state = _recomputed(entry, policies, state, where)
        newest = told[entry["state"]["branch"]] = entry["state"]
        redactions += bool(entry.get("redacted"))
    if redactions != accounted:
        raise AuditError(
            f"{redactions} records say they were redacted, and erasures account for {accounted}",
            where=str(log.path),
            mend="restore the log from a backup",
        )
    if head and head != newest.get("hash"):
        end = str(newest.get("hash", "none"))[:12]
        raise AuditError(f"the log ends at state {end}, not {head[:12]}", where=str(log.path))
    return count


def _loaded(
    entry: Mapping[str, Any], policies: Mapping[str, Policy]
) -> CompressedCognitiveState | None:
    """The state of a record, where an erasure left it whole."""
    policy = policies.get(entry["policy"]["fingerprint"])
    try:
        return policy.schema.load(entry["state"]) if policy else None
    except AccError:
        return None


def _recomputed(
    entry: Mapping[str, Any],
    policies: Mapping[str, Policy],
    before: CompressedCognitiveState | None,
    where: str,
) -> CompressedCognitiveState:
    fingerprint = entry["policy"]["fingerprint"]
    policy = policies.get(fingerprint)
    if policy is None:
        raise AuditError(
            f"made under policy {fingerprint}: {entry['policy']['schema']}, "
            f"max_tokens {entry['policy']['max_tokens']}, counter {entry['policy']['counter']}",
            where=where,
            mend="name that schema and bound (acc verify --schema module:Class --max-tokens N)",
        )
    try:
        prior = before
        if prior is None or "prior_state" in entry:
            prior = policy.schema.load(entry["prior_state"])
        again = commit(
            prior,
            Proposal.model_validate(entry["proposal"]) if entry["proposal"] else None,
            Turn.model_validate(entry["turn"]),
            [Evidence.model_validate(e) for e in entry["evidence"]],
            policy,
        )
    except (AccError, ValidationError, KeyError, TypeError) as error:
        raise AuditError(f"the commit does not recompute: {error}", where=where) from error
    said = {
        "state": again.state.canonical(),
        "notes": [n.model_dump(mode="json") for n in again.notes],
    }
    if prior.hash != entry["prior"] or any(said[key] != entry[key] for key in said):
        raise AuditError("the commit recomputes to another state", where=where)
    return again.state
