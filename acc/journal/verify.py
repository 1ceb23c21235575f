"""Verify: recompute each commit from the journal, and check chain, digests and heads (law 10).

It reads thread by thread, each in one snapshot, so that it reports as it goes. Writers go on meanwhile; on a network
file system they wait until a thread is checked. Messages and commits of a branch are read side by side, once: each
commit with what it took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import select

from acc.errors import AccError
from acc.journal.committing import successor
from acc.journal.database import told
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
from acc.journal.reading import Reading
from acc.journal.recompute import NotRecomputed, Recomputing
from acc.journal.tables import POLICIES, TOMBSTONES, TURNS
from acc.state.policy import Policy
from acc.state.tail import digest_of
from acc.text.lines import sha256_of

_OF_DOCUMENTS = {"hash", "parent", "schema_name", "turn", "version"}
"""Fields of a state of documents."""

_OF_A_STATE = {"version": 0, "parent": "", "turn": 0}
"""Fields of a state that stand in columns, too, with what one that is left out means."""


def verify(
    journal: Reading, heads: Iterable[Head], anchors: Iterable[Head], policies: Sequence[Policy]
) -> Report:
    """Check the threads of ``heads`` and ``anchors`` one after the other; see `acc.journal.journal.Journal.verify`."""
    report = Report()
    kept: dict[ThreadKey, list[Head]] = {}
    for head in anchors:
        kept.setdefault(head.thread, []).append(head)
    for key in dict.fromkeys((*(head.thread for head in heads), *kept)):
        with journal.snapshot() as opened:
            _check_thread(opened, key, policies, kept.get(key, ()), report)
    return report


def _check_thread(
    journal: Reading,
    key: ThreadKey,
    policies: Sequence[Policy],
    anchors: Sequence[Head],
    report: Report,
) -> None:
    report.threads += 1
    try:
        with told(journal.where):
            bodies = {row.fingerprint: row.body for row in journal._execute(select(POLICIES))}
            journal._found(key)
            places = journal._places(key)
    except AccError as error:
        is_gone = False  # deleted since it was listed
        with suppress(AccError):
            is_gone = not anchors and journal.was_deleted(key)
        if not is_gone:
            report.damages.append(Damage(key, MAIN, "branches", 0, str(error)))
        return
    for place in places:
        wanted = {h.version: h.hash for h in anchors if h.branch == place.head.branch and h.hash}
        recomputing = Recomputing(journal, place, policies, bodies)
        _Branch(journal, place, recomputing, wanted, report).check()


class _Branch:
    """The check of one branch; ``at`` is the number of the last message that was read."""

    def __init__(
        self,
        journal: Reading,
        place: Place,
        recomputing: Recomputing,
        anchors: dict[int, str],
        report: Report,
    ) -> None:
        self.journal, self.place, self.report = journal, place, report
        self.recomputing, self.anchors = recomputing, anchors
        self.before: StoredCommit | None = None
        self.at = place.begun

    def damage(self, table: str, row: int, what: str) -> None:
        head = self.place.head
        self.report.damages.append(Damage(head.thread, head.branch, table, row, what))

    def check(self) -> None:
        """Check messages, commits and head."""
        head = self.place.head
        try:
            with told(self.journal.where):
                self._check_rows()
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

    def _check_rows(self) -> None:
        head = self.place.head
        messages = self._messages()
        each = next(messages, None)
        for stored in self.journal.commits(head.thread, head.branch):
            read = []
            while each is not None and each.seq <= stored.span[1]:
                read.append(each)
                each = next(messages, None)
            self._check_commit(stored, self._taken(stored, read))
            self.before = stored
        while each is not None:
            if each.version:
                self._damage_taken(each)
            each = next(messages, None)

    def _messages(self) -> Iterator[StoredMessage]:
        """Yield the messages of the branch itself, checked."""
        head, turns = self.place.head, self._turns()
        for each in self.journal.messages(
            head.thread, self.place.begun + 1, branch=head.branch, also_open=True
        ):
            self.report.messages += 1
            if each.seq != self.at + 1:
                self.damage("messages", each.id, f"messages before number {each.seq} are missing")
            self.at = each.seq
            number = each.message.turn
            if not any(first <= each.seq <= last for first, last in turns.get(number, ())):
                what = f"its turn {number} does not hold the message {each.message.ref}"
                self.damage("messages", each.id, what)
            self._check_digest(each)
            yield each
        if self.at < max((last for spans in turns.values() for _, last in spans), default=0):
            self.damage("messages", 0, f"messages after number {self.at} are missing")

    def _turns(self) -> Mapping[int, list[tuple[int, int]]]:
        """Return which messages each turn has. Nothing else tells of one that waits, or of a document's."""
        found: dict[int, list[tuple[int, int]]] = {}
        turns = select(TURNS.c.number, TURNS.c.first_seq, TURNS.c.last_seq)
        own = turns.where(TURNS.c.branch_id == self.place.branch_id)
        for number, first, last in self.journal._execute(own):
            found.setdefault(number, []).append((first, last))
        return found

    def _check_digest(self, each: StoredMessage) -> None:
        if each.digest:
            if digest_of(each.message.observation, self.journal._digest_key) != each.digest:
                self.damage("messages", each.id, f"the message {each.message.ref} was changed")
        elif not self.journal._is_there(
            TOMBSTONES.c.branch_id == self.place.branch_id, TOMBSTONES.c.seq == each.seq
        ):
            self.damage("messages", each.id, "it was blanked, and no tombstone says so")

    def _taken(self, stored: StoredCommit, read: Sequence[StoredMessage]) -> list[StoredMessage]:
        """Return those of some messages that a commit took. No commit took another worker's between them."""
        first, last = stored.span
        taken = []
        for each in read:
            if each.version == stored.version and each.seq >= first:
                taken.append(each)
            elif each.version:
                self._damage_taken(each)
        there = {each.seq for each in (*taken, *(each for each in read if not each.digest))}
        if last and not {first, last} <= there:
            what = f"messages that version {stored.version} took, {first} to {last}, are missing"
            self.damage("messages", 0, what)
        return taken

    def _damage_taken(self, each: StoredMessage) -> None:
        what = f"version {each.version} did not take the message {each.message.ref}"
        self.damage("messages", each.id, what)

    def _check_commit(self, stored: StoredCommit, taken: Sequence[StoredMessage]) -> None:
        self._check_place(stored)
        if stored.problem:
            self.damage("commits", stored.id, stored.problem)
            self.report.reasons["its row is damaged"] += 1
            return
        self._check_state(stored, stored.state or {})
        try:
            problem = self._recomputed(stored, taken)
        except NotRecomputed as error:
            self.report.reasons[str(error)] += 1
            return
        if problem:
            self.damage("commits", stored.id, problem)
        else:
            self.report.recomputed += 1

    def _recomputed(self, stored: StoredCommit, taken: Sequence[StoredMessage]) -> str:
        if stored.kind == "ingest":
            return ""
        if stored.kind != "step":
            is_fork = stored.kind == "fork"
            raise NotRecomputed("a branch begins with it" if is_fork else "it came from outside")
        return self.recomputing.problem(stored, self.before, taken)

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
        if stored.seq < max(before.seq if before else self.place.begun, stored.span[1]):
            self.damage("commits", stored.id, "its number of the last message is too low")
        if stored.record is not None and ("given" in stored.record) != (stored.kind == "step"):
            self.damage("commits", stored.id, f"what it was given is not that of a {stored.kind}")

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
        body = self.journal._state_at(self.place, stored.parent)
        if body and successor(body, branch=stored.branch)["hash"] != state["hash"]:
            self.damage("commits", stored.id, "it is not the state that the branch was forked from")
