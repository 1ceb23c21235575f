"""Recompute the commits of a branch one after the other, from what the journal holds.

Policies are kept by fingerprint, so that a commit of last year recomputes today. A fingerprint is the digest of its
policy's row, so that a row that was changed shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acc.commit.commit import commit
from acc.errors import AccError
from acc.journal.names import Place, StoredCommit, StoredMessage
from acc.journal.reading import Reading
from acc.journal.record import given_of, notes_of
from acc.journal.tables import TOMBSTONES
from acc.state.model import CompressedCognitiveState
from acc.state.policy import LAWS, RENDERER, Policy
from acc.state.tail import Message

_DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError, AccError)
_FORGOTTEN = "a text that it was made of was pruned or erased"


class NotRecomputed(Exception):
    """A commit cannot be recomputed here; the text says why. It is not damaged."""


class Recomputing:
    """Gives each commit's record to `commit` once more; ``bodies`` are the journal's policies by fingerprint."""

    def __init__(
        self, journal: Reading, place: Place, policies: Sequence[Policy], bodies: Mapping[str, str]
    ) -> None:
        self._journal, self._place = journal, place
        self._policies, self._bodies = policies, bodies
        self._known: dict[str, Policy] = {}
        self._texts: dict[str, Message] = {}
        self._last: CompressedCognitiveState | None = None

    def problem(
        self, stored: StoredCommit, before: StoredCommit | None, taken: Sequence[StoredMessage]
    ) -> str:
        """Return how a commit differs from what its record makes of the state before; empty if it does not.

        ``taken``: the messages that it took.

        Raises:
            NotRecomputed: The state before, a text of it, or its policy is not there.
        """
        try:
            policy = self._policy(stored.policy)
            prior = self._prior(stored, before, policy)
            turn = self._turn(taken, prior)
            return self._differs(stored, policy, prior, turn)
        except _DAMAGED as error:
            return f"it cannot be recomputed: {type(error).__name__}: {error}"

    def _policy(self, fingerprint: str) -> Policy:
        if fingerprint in self._known:
            return self._known[fingerprint]
        text = self._bodies.get(fingerprint)
        if text is None:
            raise ValueError(f"the row of its policy {fingerprint} is missing")
        if hashlib.sha256(text.encode()).hexdigest()[:16] != fingerprint:
            raise ValueError(f"the row of its policy {fingerprint} was changed")
        body = json.loads(text)
        found = policy_of(fingerprint, body, self._policies)
        if found is None:
            raise NotRecomputed(_why_unknown(body, self._policies))
        self._known[fingerprint] = found
        return found

    def _prior(
        self, stored: StoredCommit, before: StoredCommit | None, policy: Policy
    ) -> CompressedCognitiveState:
        """Return the state that the commit followed."""
        if before is None and stored.parent == (empty := policy.schema.empty()).hash:
            return empty
        if before is None or before.state is None:
            raise NotRecomputed("the state before it cannot be read")
        last = self._last
        if last is not None and last.hash == before.hash and type(last) is policy.schema:
            return last
        return policy.schema.load(dict(before.state))

    def _differs(
        self,
        stored: StoredCommit,
        policy: Policy,
        prior: CompressedCognitiveState,
        turn: Sequence[Message],
    ) -> str:
        record: Mapping[str, Any] = stored.record or {}
        made = commit(prior, policy, given_of(record, turn, self._text))
        if made.state.hash != stored.hash:
            return "it does not recompute: another state comes out"
        self._last = made.state
        if notes_of(record.get("notes", ())) != made.notes:
            return "it does not recompute: other notes come out"
        if tuple(record.get("no_room", ())) != made.no_room:
            return "it does not recompute: other messages find no room"
        return ""

    def _turn(
        self, taken: Sequence[StoredMessage], prior: CompressedCognitiveState
    ) -> tuple[Message, ...]:
        """Return the messages of a turn, and keep those that the step can still read."""
        if not all(each.digest for each in taken):
            raise NotRecomputed(_FORGOTTEN)
        turn = tuple(each.message for each in taken)
        tail = {entry.ref for entry in prior.unread}
        self._texts = {ref: text for ref, text in self._texts.items() if ref in tail}
        self._texts |= {message.ref: message for message in turn}
        return turn

    def _text(self, ref: str) -> Message:
        if ref not in self._texts:  # of a branch that this one came from
            found = self._journal._texts(self._place, [ref])
            if not found:
                own = TOMBSTONES.c.branch_id.in_(self._place.lineage), TOMBSTONES.c.ref == ref
                raise NotRecomputed(_FORGOTTEN) if self._journal._is_there(*own) else KeyError(ref)
            self._texts[ref] = found[0]
        return self._texts[ref]


def _why_unknown(stored: Mapping[str, Any], known: Iterable[Policy]) -> str:
    """Return why no known policy is the one of a row that nobody changed."""
    schema, counter = stored["schema"], stored["counter"]
    counters = {each.counter.name for each in known if each.schema.__name__ == schema}
    if not counters:
        return f"the schema {schema} is not known here"
    if counter not in counters:
        return f"the token counter {counter} is not known here"
    if (stored["laws"], stored["renderer"]) != (LAWS, RENDERER):
        return f"another version of the library made it (laws {stored['laws']})"
    return f"the schema {schema} has another form here"


def policy_of(
    fingerprint: str, body: Mapping[str, Any] | None, known: Iterable[Policy]
) -> Policy | None:
    """Return the policy with this fingerprint, or None.

    Args:
        fingerprint: The fingerprint that a commit names.
        body: What the policy says (`Policy.body`), if the journal has it.
        known: Policies with schema, counter and digest key. One of them with the numbers of ``body`` counts, too.
    """
    for policy in known:
        if policy.fingerprint == fingerprint:
            return policy
        names = (policy.schema.__name__, policy.counter.name)
        if not body or names != (body["schema"], body["counter"]):
            continue
        same = ("max_tokens", "style", "lifting", "pinned_share", "pasted")
        numbers: dict[str, Any] = {name: body[name] for name in same}
        speakers = body["speakers"]
        numbers["speakers"] = None if speakers is None else frozenset(speakers)
        older = replace(policy, **numbers)
        if older.fingerprint == fingerprint:
            return older
    return None
