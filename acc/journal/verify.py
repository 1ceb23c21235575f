"""Verify: recompute each commit from the journal, and check chain, digests and heads (law 10).

It reads thread by thread, each in one snapshot, so that it reports as it goes. Writers go on meanwhile; on a network
file system they wait until a thread is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from sqlalchemy import select

from acc.errors import AccError
from acc.journal.committing import successor
from acc.journal.database import told
from acc.journal.listing import Listing
from acc.journal.names import (
    MAIN,
    Damage,
    Head,
    Place,
    Report,
    StoredCommit,
    StoredMessage,
    ThreadKey,
)
from acc.journal.recompute import NotRecomputed, Recomputing
from acc.journal.tables import COMMITS, POLICIES, TOMBSTONES, TURNS, body_of
from acc.state.policy import Policy
from acc.state.tail import digest_of
from acc.text.lines import sha256_of

_OF_DOCUMENTS = {"hash", "parent", "schema_name", "turn", "version"}
"""Fields of a state of documents."""

_OF_A_STATE = {"version": 0, "parent": "", "turn": 0}
"""Fields of a state that stand in columns, too, with what one that is left out means."""


def verify(
    journal: Listing,
    heads: Iterable[Head],
    anchors: Iterable[Head],
    policies: Sequence[Policy],
) -> Report:
    """Check the threads of ``heads`` and ``anchors`` one after the other; see `acc.journal.journal.Journal.verify`."""
    report = Report()
    kept: dict[ThreadKey, list[Head]] = {}
    for head in anchors:
        kept.setdefault(head.thread, []).append(head)
    seen = set()

    def check(key: ThreadKey, anchors: Sequence[Head]) -> None:
        with journal.snapshot() as opened:
            _check_thread(opened, key, policies, anchors, report)

    for key, _ in groupby(heads, lambda head: head.thread):
        if key not in seen:  # a fork's row may stand apart from its thread's
            seen.add(key)
            check(key, kept.pop(key, ()))
    for key, missing in kept.items():
        check(key, missing)
    return report


def _check_thread(
    journal: Listing,
    key: ThreadKey,
    policies: Sequence[Policy],
    anchors: Sequence[Head],
    report: Report,
) -> None:
    report.threads += 1
    try:
        with told(journal.where):
            bodies = {row.fingerprint: row.body for row in journal._execute(select(POLICIES))}
            places = journal._places(key)
    except AccError as error:
        if anchors or not _is_gone(journal, key):
            report.damages.append(Damage(key, MAIN, "branches", 0, str(error)))
        return
    for place in places:
        wanted = {h.version: h.hash for h in anchors if h.branch == place.head.branch and h.hash}
        _Branch(
            journal, place, Recomputing(journal, place, policies, bodies), wanted, report
        ).check()


def _is_gone(journal: Listing, key: ThreadKey) -> bool:
    """Whether the thread was deleted since it was listed."""
    with suppress(AccError):
        return journal.was_deleted(key)
    return False


class _Branch:
    """The check of one branch."""

    def __init__(
        self,
        journal: Listing,
        place: Place,
        recomputing: Recomputing,
        anchors: dict[int, str],
        report: Report,
    ) -> None:
        self.journal, self.place, self.report = journal, place, report
        self.recomputing, self.anchors = recomputing, anchors
        self.before: StoredCommit | None = None

    def damage(self, table: str, row: int, what: str) -> None:
        head = self.place.head
        self.report.damages.append(Damage(head.thread, head.branch, table, row, what))

    def check(self) -> None:
        """Check messages, commits and head."""
        head = self.place.head
        try:
            with told(self.journal.where):
                self._check_messages()
                for stored in self.journal.commits(head.thread, head.branch):
                    self._check_commit(stored)
                    self.before = stored
        except AccError as error:
            self.damage("commits", 0, str(error))
            return
        last = self.before
        found = (last.hash, last.version, last.seq) if last else ("", 0, 0)
        if (head.hash, head.version, head.seq) != found:
            self.damage("heads", self.place.branch_id, "the head is not the last commit")
        for version in self.anchors:
            if version > head.version:
                self.damage("commits", 0, f"version {version}, which was anchored outside, is gone")

    def _check_messages(self) -> None:
        spans = _Spans(self.journal, self.place)
        head, at = self.place.head, self._first()
        for each in self.journal.messages(head.thread, at + 1, branch=head.branch, also_open=True):
            self.report.messages += 1
            if each.seq != at + 1:
                self.damage("messages", each.id, f"messages before number {each.seq} are missing")
            at = each.seq
            if problem := spans.problem(each):
                self.damage("messages", each.id, problem)
            self._check_digest(each)
        if at < spans.last:
            self.damage("messages", 0, f"messages after number {at} are missing")
        for what in spans.missing():
            self.damage("messages", 0, what)

    def _first(self) -> int:
        """Return the number of the last message before the branch's own."""
        return self.place.ancestry[0][1] if self.place.ancestry else 0

    def _check_digest(self, each: StoredMessage) -> None:
        if each.digest:
            if digest_of(each.message.observation, self.journal._digest_key) != each.digest:
                self.damage("messages", each.id, f"the message {each.message.ref} was changed")
            return
        statement = select(TOMBSTONES.c.id).where(
            TOMBSTONES.c.branch_id == self.place.branch_id, TOMBSTONES.c.seq == each.seq
        )
        if self.journal._execute(statement).first() is None:
            self.damage("messages", each.id, "it was blanked, and no tombstone says so")

    def _check_commit(self, stored: StoredCommit) -> None:
        self._check_place(stored)
        if stored.problem:
            self.damage("commits", stored.id, stored.problem)
        elif stored.state is not None:
            self._check_state(stored, stored.state)
        if stored.kind == "ingest" and not stored.problem:
            self.report.recomputed += 1
            return
        if why := self._why_not(stored):
            self.report.reasons[why] += 1
            return
        try:
            problem = self.recomputing.problem(stored, self.before)
        except NotRecomputed as error:
            self.report.reasons[str(error)] += 1
            return
        if problem:
            self.damage("commits", stored.id, problem)
        else:
            self.report.recomputed += 1

    def _check_place(self, stored: StoredCommit) -> None:
        """Check what a commit says of those before it and outside, and of what it took."""
        before = self.before
        if before is not None and stored.kind != "taken":
            if stored.version != before.version + 1:
                self.damage("commits", stored.id, f"versions before {stored.version} are missing")
            if stored.parent != before.hash:
                self.damage("commits", stored.id, "it does not follow the commit before it")
        if self.anchors.pop(stored.version, stored.hash) != stored.hash:
            self.damage(
                "commits", stored.id,
                "its hash is not the one anchored outside: after an erasure, anchor the heads again",
            )  # fmt: skip
        if stored.seq < max(before.seq if before else self._first(), stored.span[1]):
            self.damage("commits", stored.id, "its number of the last message is too low")
        if stored.record is not None and ("given" in stored.record) != (stored.kind == "step"):
            self.damage("commits", stored.id, f"what it was given is not that of a {stored.kind}")

    def _why_not(self, stored: StoredCommit) -> str:
        if stored.problem:
            return "its row is damaged"
        if stored.state is None:
            return "an erasure blanked it"
        kinds = {"fork": "a branch begins with it", "erasure": "an erasure made it"}
        return "" if stored.kind == "step" else kinds.get(stored.kind, "it came from outside")

    def _check_state(self, stored: StoredCommit, state: Mapping[str, Any]) -> None:
        body = {k: v for k, v in state.items() if k != "hash"}
        columns = (stored.version, stored.parent, stored.turn)
        if not sha256_of(body) == stored.hash == state.get("hash"):
            self.damage("commits", stored.id, "its state was changed")
        elif tuple(state.get(k, empty) for k, empty in _OF_A_STATE.items()) != columns:
            self.damage("commits", stored.id, "its state is of another version")
        elif stored.kind == "fork":
            self._check_fork(stored, state)
        elif stored.kind == "ingest" and state.keys() - _OF_DOCUMENTS:
            self.damage("commits", stored.id, "the state of documents says something")

    def _check_fork(self, stored: StoredCommit, state: Mapping[str, Any]) -> None:
        """Check that the first state of a branch is the one that it was forked from."""
        data = self.journal._state_at(self.place, stored.parent)
        if data and successor(body_of(data), branch=stored.branch)["hash"] != state["hash"]:
            self.damage("commits", stored.id, "it is not the state that the branch was forked from")


class _Spans:
    """What turns and commits say of a branch's messages: which there are, and which commit took each.

    Nothing recomputes a message that waits, or one of documents. These rows tell of it.

    Attributes:
        last: Number of the last message that a turn tells of.
    """

    def __init__(self, journal: Listing, place: Place) -> None:
        self._of_turns: dict[int, list[tuple[int, int]]] = {}
        self._of_commits: dict[int, tuple[int, int]] = {}
        self._found: dict[int, tuple[int, int]] = {}
        self._blanked: set[int] = set()
        turns = select(TURNS.c.number, TURNS.c.first_seq, TURNS.c.last_seq)
        for number, *span in journal._execute(turns.where(TURNS.c.branch_id == place.branch_id)):
            self._of_turns.setdefault(number, []).append((span[0], span[1]))
        self.last = max((span[1] for spans in self._of_turns.values() for span in spans), default=0)
        commits = select(COMMITS.c.version, COMMITS.c.first_seq, COMMITS.c.last_seq).where(
            COMMITS.c.branch_id == place.branch_id, COMMITS.c.last_seq > 0
        )
        for version, first, last in journal._execute(commits):
            self._of_commits[version] = first, last

    def problem(self, each: StoredMessage) -> str:
        """Return how a message's row contradicts turns and commits; empty if it does not."""
        turns = self._of_turns.get(each.message.turn, ())
        if not any(first <= each.seq <= last for first, last in turns):
            return f"its turn {each.message.turn} does not hold the message {each.message.ref}"
        if not each.digest:  # nothing may be made of it any more
            self._blanked.add(each.seq)
        if not each.version:
            return ""
        first, last = self._of_commits.get(each.version, (0, 0))
        if not first <= each.seq <= last:
            return f"version {each.version} did not take the message {each.message.ref}"
        begun, _ = self._found.get(each.version, (each.seq, 0))
        self._found[each.version] = begun, each.seq
        return ""

    def missing(self) -> Iterator[str]:
        """Yield what commits tell of and no row of messages did."""
        for version, span in self._of_commits.items():
            ends = zip(span, self._found.get(version, (0, 0)), strict=True)
            if any(told != found and told not in self._blanked for told, found in ends):
                yield f"messages that version {version} took, {span[0]} to {span[1]}, are missing"
