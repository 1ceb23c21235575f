"""Verification of an audit log: recompute every commit from its recorded inputs (law 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from acc.audit.forms import (
    UnderOtherForm,
    check_in_order,
    check_is_earlier,
    content,
    is_same_under,
    loaded,
)
from acc.audit.log import AuditLog
from acc.audit.record import changed, damaged, digest_of
from acc.audit.redaction import state_hash
from acc.commit.commit import LAWS, commit
from acc.errors import AccError, AuditError
from acc.state.loading import Key, Keys, is_signed, keys_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.protocol import Thread
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

_MAY_DIFFER = ("version", "parent", "hash")


def check_tombstone(entry: Mapping[str, Any], before: Mapping[str, Any], where: str) -> None:
    """Raise an `AuditError` if a tombstone commit does not only remove items.

    ``before`` is the branch's previous state in the log; empty if the log has none.
    """
    state = entry["state"]
    if state.get("hash") != state_hash(state):
        raise _refused("its state was changed", where)
    if not before or state["parent"] != before["hash"] or state["version"] != before["version"] + 1:
        raise _refused("it does not follow the previous state", where)
    for name, value in state.items():
        old = before.get(name)
        if isinstance(value, list):
            _check_items(name, value, old if isinstance(old, list) else [], where)
        elif name not in _MAY_DIFFER and value != old:
            raise _refused(f"it changes {name}", where)


def _check_items(name: str, after: list[Any], before: list[Any], where: str) -> None:
    known = [_without_sources(item) for item in before]
    for item in after:
        if _without_sources(item) not in known:
            raise _refused(f"it adds to {name}, or rewords an item", where)
        old = before[known.index(_without_sources(item))]
        if isinstance(item, Mapping) and not set(item.get("sources", ())) <= set(
            old.get("sources", ())
        ):
            raise _refused(f"it adds a source in {name}", where)


def _without_sources(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {key: value for key, value in item.items() if key != "sources"}
    return item


def _refused(what: str, where: str) -> AuditError:
    return damaged(f"the record is not a valid tombstone commit: {what}", where)


_OF_COPY = ("branch", "parent")
"""Fields that differ between a committed state and its copy on a new branch."""

_NEEDED = ("policy", "prior", "turn", "evidence", "proposal", "state", "notes")


def verify(
    log: AuditLog,
    policies: Mapping[str, Policy],
    *,
    head: str = "",
    redacted: list[int] | None = None,
    earlier: list[int] | None = None,
    state_key: Key | Sequence[Key] | None = None,
    stand_ins: Mapping[str, Policy] | None = None,
    under_other_forms: list[UnderOtherForm] | None = None,
) -> int:
    """Recompute every commit of ``log``.

    This proves what the laws made of each recorded proposal, not that a compressor made the proposal: its
    ``confirmed``, too, is taken as recorded.

    A redacted commit cannot be recomputed. For it, this function checks its place in the chain, and that
    a tombstone commit accounts for it, which only removes items.

    Args:
        log: The log.
        policies: Every policy that the thread ever used, by fingerprint.
        head: Expected end of the log, which the caller keeps in another place: the digest of the
            newest record, which proves every byte of the log; or the hash of the last state, which
            proves only that state.
        redacted: Receives the line numbers of commits that an erasure made impossible to recompute.
        earlier: Receives the line numbers of commits made under earlier laws (`acc.commit.commit.LAWS`)
            that give another result today. Their states are unchanged and chained.
        state_key: Keys (`Settings.state_key`); one of them must have signed every commit, except
            those of erasures. None checks no signature.
        stand_ins: For fingerprints that ``policies`` lacks, the policy with another form of the same
            schema. Commits under an earlier form are checked for their chain, order and intact states, and
            recomputed under the stand-in.
        under_other_forms: Receives these commits, and whether the stand-in makes the same of their inputs.

    Returns:
        Number of commits. All are identical when recomputed, except the redacted and earlier ones, and
        those under other forms.

    Raises:
        AuditError: A record is wrong; the error names the first wrong line and the fault.
    """
    walk = _Walk(log, policies, redacted if redacted is not None else [], keys_of(state_key))
    walk.earlier = earlier if earlier is not None else []
    walk.stand_ins = stand_ins or {}
    walk.under_other_forms = under_other_forms if under_other_forms is not None else []
    count = 0
    for count, entry in enumerate(log.records(), 1):
        walk.take(entry, count, f"{log.where}, line {count}")
    walk.end(log.where, head)
    return count


class _Walk:
    """The commits read so far; each call of `take` checks the next one."""

    def __init__(
        self, log: AuditLog, policies: Mapping[str, Policy], gone: list[int], keys: Keys
    ) -> None:
        self._log = log
        self._policies = policies
        self._keys = keys
        self._known: dict[str, Mapping[str, Any]] = {}
        self._gone = gone
        self._state: CompressedCognitiveState | None = None
        self._states: dict[str, Mapping[str, Any]] = {}
        self._newest: Mapping[str, Any] = {}
        self._digest = ""
        self._accounted = self._redactions = 0
        self._recomputed_under: set[str] = set()
        self.earlier: list[int] = []
        self.stand_ins: Mapping[str, Policy] = {}
        self.under_other_forms: list[UnderOtherForm] = []

    def _policy(self, entry: Mapping[str, Any]) -> Policy | None:
        """Return the policy of a record, or the one that stands in for it."""
        fingerprint = entry["policy"]["fingerprint"]
        return self._policies.get(fingerprint) or self.stand_ins.get(fingerprint)

    def take(self, entry: Mapping[str, Any], number: int, where: str) -> None:
        """Check a record against the previous one, and recompute it unless it was redacted."""
        self._check(entry, where)
        self._digest = str(entry["digest"])
        fingerprint = entry["policy"]["fingerprint"]
        is_other = fingerprint not in self._policies and fingerprint in self.stand_ins
        cut_off = self._state is None and self._newest and "prior_state" not in entry
        if "erasure" in entry:
            branch = self._states.get(entry["state"]["branch"], {})
            check_tombstone(entry, branch, where)
            self._accounted += int(entry["erasure"]["redacted"])
            self._state = loaded(entry["state"], self._policy(entry))
        elif entry.get("redacted") or (cut_off and not is_other):
            self._gone.append(number)
            self._state = loaded(entry["state"], self._policy(entry))
        elif is_other:
            self._take_other_form(entry, self.stand_ins[fingerprint], number, where)
        else:
            self._state = self._recompute(entry, number, where)
        made = entry["state"]
        self._known.setdefault(str(entry["prior"]), {})
        self._known[str(made["hash"])] = {name: made.get(name) for name in _OF_COPY}
        self._newest = self._states[entry["state"]["branch"]] = entry["state"]
        self._redactions += bool(entry.get("redacted"))

    def _take_other_form(
        self, entry: Mapping[str, Any], policy: Policy, number: int, where: str
    ) -> None:
        """Check a commit under a form of its schema that is not given, and recompute it under ``policy``."""
        check_is_earlier(policy, self._recomputed_under, where)
        check_in_order(entry, self._newest, where)
        is_same = is_same_under(policy, entry, self._newest, _bound_to(entry, where))
        self._state = loaded(entry["state"], policy)
        fingerprint = entry["policy"]["fingerprint"]
        made = UnderOtherForm(number, policy.schema.__name__, fingerprint, is_same)
        self.under_other_forms.append(made)

    def _recompute(
        self, entry: Mapping[str, Any], number: int, where: str
    ) -> CompressedCognitiveState | None:
        """Recompute a record's state; return the recorded state if it was made under earlier laws."""
        if (policy := self._policy(entry)) is not None:
            self._recomputed_under.add(policy.schema.__name__)
        try:
            return _recomputed(entry, self._policies, self._state, where)
        except AuditError:
            state = loaded(entry["state"], policy)
            before = entry.get("prior_state") or (self._state.canonical() if self._state else {})
            follows = before.get("hash", entry["prior"]) == entry["prior"]
            if entry.get("laws", 1) >= LAWS or state is None or not follows:
                raise
            self.earlier.append(number)
            return state

    def end(self, path: str, head: str) -> None:
        """Check the number of redactions against the erasures, and the end of the log against ``head``."""
        if self._redactions != self._accounted:
            raise damaged(
                f"{self._redactions} records are marked as redacted, but the erasures account for "
                f"{self._accounted}",
                path,
            )
        state = str(self._newest.get("hash", ""))
        if head and head not in (self._digest, state):
            digest, state = self._digest[:12] or "none", state[:12] or "none"
            raise AuditError(
                f"the log ends at record {digest} and state {state}, not {head[:12]}",
                where=path,
                hint="check the expected digest; if it is right, restore the log from a backup",
            )

    def _check(self, entry: Mapping[str, Any], where: str) -> None:
        """Check a record's place in the chain, its digest, its fields and its signature."""
        if entry.get("previous") != self._digest:
            raise damaged("a record is missing or out of place", where)
        if str(entry.get("digest")) != digest_of(entry):
            raise changed(where)
        if missing := [key for key in _NEEDED if key not in entry]:
            raise damaged(f"the record has no {missing[0]!r}", where)
        made = entry["state"]
        is_signed_ = is_signed(str(made["hash"]), str(made.get("signature", "")), self._keys)
        if self._keys and "erasure" not in entry and not is_signed_:
            raise AuditError(
                "none of the given keys has signed the state",
                where=where,
                hint="give the keys that were in use at the time; with them, find out who wrote it",
            )
        if self._known and "prior_state" in entry and not entry.get("adopted"):
            self._check_prior(entry, where)

    def _check_prior(self, entry: Mapping[str, Any], where: str) -> None:
        """Check that a prior state was committed, seeded or adopted.

        No commit records a seeded or an adopted state. A seeded state has turn 0. An adopted state has no
        operator trust and no owner.
        """
        prior = entry["prior_state"]
        before = self._known.get(str(prior["parent"]), {})
        # A branch begins with a copy of its parent state.
        is_copy = bool(before) and state_hash({**prior, **before}) == prior["parent"]
        items = [item for value in prior.values() if isinstance(value, list) for item in value]
        is_low = not prior.get("bound_to") and all(i.get("trust") != "operator" for i in items)
        is_known = str(prior["hash"]) in self._known or is_copy or is_low or prior["turn"] == 0
        if not is_known and not self._is_migrated(entry):
            raise AuditError(
                "the commit continues a state that no commit made",
                where=where,
                hint="continue from the state before it, and find out who wrote this state",
            )

    def _is_migrated(self, entry: Mapping[str, Any]) -> bool:
        """Return whether a prior state is a committed one in the form that a later schema gives it.

        It may be the first state of a fork, too. Of a state that an erasure redacted, only its place is checked.
        """
        prior, policy = entry["prior_state"], self._policy(entry)
        now = loaded(prior, policy)
        for record in self._log.records():
            if record["digest"] == entry["digest"]:
                return False
            made = record["state"]
            if (made["version"], made["turn"]) != (prior["version"], prior["turn"]):
                continue
            if policy is None or entry.get("redacted") or record.get("redacted"):
                return True  # without a policy, recomputing the commit tells what to give
            then = loaded(made, policy)
            if now is None or then is None:
                # The prior state has a form that is not given, and that the given one cannot load.
                if entry["policy"]["fingerprint"] not in self._policies:
                    return True
            elif content(now, "branch") == content(then, "branch"):
                return True
        return False


def _bound_to(entry: Mapping[str, Any], where: str) -> str:
    """Return the recorded state's owner: the record's thread, or nothing in old logs."""
    owner = str(entry["state"].get("bound_to", ""))
    if owner not in ("", Thread.model_validate(entry["thread"]).owner_key):
        raise AuditError("the state belongs to another thread than the record", where=where)
    return owner


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
            f"the commit was made under a policy that is not given, {fingerprint}: "
            f"{entry['policy']['schema']}, "
            f"max_tokens {entry['policy']['max_tokens']}, counter {entry['policy']['counter']}",
            where=where,
            hint="name its schema and bound (acc verify --schema module:Class --max-tokens N)",
        )
    try:
        prior = before
        if prior is None or "prior_state" in entry:
            prior = policy.schema.load(entry["prior_state"])
        elif type(prior) is not policy.schema:  # the same state under another form of its schema
            prior = policy.schema.load(prior.canonical())
        again = commit(
            prior,
            Proposal.model_validate(entry["proposal"]) if entry["proposal"] else None,
            Turn.model_validate(entry["turn"]),
            [Evidence.model_validate(e) for e in entry["evidence"]],
            policy,
            bound_to=_bound_to(entry, where),
        )
    except (AccError, ValidationError, KeyError, TypeError) as error:
        raise AuditError(f"the commit cannot be recomputed: {error}", where=where) from error
    # No recomputation gives a signature: that takes the key.
    made = {name: value for name, value in entry["state"].items() if name != "signature"}
    state = {name: value for name, value in again.state.canonical().items() if name != "signature"}
    notes = [n.model_dump(mode="json") for n in again.notes]
    if (prior.hash, state, notes) != (entry["prior"], made, entry["notes"]):
        raise AuditError("recomputing the commit gives another state", where=where)
    return again.state
