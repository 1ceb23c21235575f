"""Verify: recompute each commit from the journal, and check chain, digests and heads (law 10).

It reads thread by thread, so that it reports as it goes; `acc.journal.verifying` spreads threads over processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import select

from acc.errors import AccError
from acc.journal.branching import successor
from acc.journal.listing import Listing
from acc.journal.names import MAIN, Head, StoredCommit, StoredMessage, ThreadKey
from acc.journal.places import Place, was_deleted
from acc.journal.recompute import NotRecomputed, Recomputing
from acc.journal.report import Damage, Report
from acc.journal.spans import Spans
from acc.journal.states import body_of
from acc.journal.tables import POLICIES, TOMBSTONES
from acc.state.policy import Policy
from acc.tail import digest_of
from acc.text.lines import sha256_of

_OF_DOCUMENTS = {"hash", "parent", "schema_name", "turn", "version"}
"""Fields of a state of documents."""


_OF_A_STATE = {"version": 0, "parent": "", "turn": 0}
"""Fields of a state that stand in columns, too, with what one that is left out means."""


Epochs = list[tuple[int, int]]
"""The rows of a thread's branches, each with its epoch. An erasure raises it; a thread begun anew has other rows."""


def verify_thread(
    journal: Listing, key: ThreadKey, policies: Sequence[Policy], anchors: Iterable[Head] = ()
) -> Report:
    """Check one thread.

    Args:
        journal: The journal.
        key: The thread.
        policies: Schemas, counters and digest keys of the thread's commits. Their numbers are in the journal.
        anchors: Heads of the thread that were kept outside. Each has to be a commit.
    """
    heads = tuple(anchors)
    while True:
        report, epochs = _checked(journal, key, policies, heads)
        if report.is_clean or not epochs or epochs == _epochs(journal, key):
            return report  # otherwise an erasure came between two pages


def _checked(
    journal: Listing, key: ThreadKey, policies: Sequence[Policy], anchors: Sequence[Head]
) -> tuple[Report, Epochs]:
    """Check the branches of a thread; return what stood there as the check began, too; nothing if it cannot be read."""
    report = Report(threads=1)

    def begin(opened: Listing) -> tuple[list[tuple[Place, Spans]], dict[str, str]]:
        bodies = {row.fingerprint: row.body for row in opened._execute(select(POLICIES))}
        return [(place, Spans.read(opened, place)) for place in opened._places(key)], bodies

    try:
        branches, bodies = journal._read(begin)
    except AccError as error:
        if anchors or not _is_gone(journal, key):
            report.damages.append(Damage(key, MAIN, "branches", 0, str(error)))
        return report, []
    for place, spans in branches:
        wanted = {h.version: h.hash for h in anchors if h.branch == place.head.branch and h.hash}
        recomputing = Recomputing(journal, place, policies, bodies)
        _Branch(journal, place, spans, recomputing, wanted, report).check()
    return report, _epochs_of(place for place, _ in branches)


def _is_gone(journal: Listing, key: ThreadKey) -> bool:
    """Whether the thread was deleted since it was listed."""
    with suppress(AccError):
        return journal._read(lambda j: was_deleted(j._sql, key, j._digest_key))
    return False


def _epochs(journal: Listing, key: ThreadKey) -> Epochs:
    """Return those of a thread as it stands now; none if they cannot be read."""
    with suppress(AccError):
        return journal._read(lambda j: _epochs_of(j._places(key)))
    return []


def _epochs_of(places: Iterable[Place]) -> Epochs:
    return [(place.branch_id, place.head.epoch) for place in places]


class _Branch:
    """The check of one branch."""

    def __init__(
        self,
        journal: Listing,
        place: Place,
        spans: Spans,
        recomputing: Recomputing,
        anchors: dict[int, str],
        report: Report,
    ) -> None:
        self.journal, self.place, self.spans, self.report = journal, place, spans, report
        self.recomputing, self.anchors = recomputing, anchors
        self.before: StoredCommit | None = None

    def damage(self, table: str, row: int, what: str) -> None:
        head = self.place.head
        self.report.damages.append(Damage(head.thread, head.branch, table, row, what))

    def check(self) -> None:
        """Check messages, commits and head."""
        try:
            self._check_messages()
            self._check_commits()
        except AccError as error:
            self.damage("commits", 0, str(error))
            return
        head, last = self.place.head, self.before
        found = (last.hash, last.version, last.seq) if last else ("", 0, 0)
        if (head.hash, head.version, head.seq) != found:
            self.damage("heads", self.place.branch_id, "the head is not the last commit")
        for version in self.anchors:
            if version > head.version:
                self.damage("commits", 0, f"version {version}, which was anchored outside, is gone")

    def _check_messages(self) -> None:
        at, head, last = self._first(), self.place.head, self.spans.last
        for each in self.journal.messages(
            head.thread, at + 1, last - at, branch=head.branch, also_open=True
        ):
            self._check_message(each, at + 1)
            at = each.seq
        if at < last:
            self.damage("messages", 0, f"messages after number {at} are missing")
        for what in self.spans.missing():
            self.damage("messages", 0, what)
        later = self.spans.later
        if later and self.journal.head(head.thread, head.branch).version < later:
            self.damage("commits", 0, f"version {later} is missing")

    def _first(self) -> int:
        """Return the number of the last message before the branch's own."""
        return self.place.ancestry[0][1] if self.place.ancestry else 0

    def _check_message(self, each: StoredMessage, expected: int) -> None:
        self.report.messages += 1
        if each.seq != expected:
            self.damage("messages", each.id, f"messages before number {each.seq} are missing")
        if problem := self.spans.problem(each, self.place.head.version):
            self.damage("messages", each.id, problem)
        if not each.digest:
            if not self._is_tombstone(each.seq):
                self.damage("messages", each.id, "it was blanked, and no tombstone says so")
        elif digest_of(each.message.observation, self.journal._digest_key) != each.digest:
            self.damage("messages", each.id, f"the message {each.message.ref} was changed")

    def _is_tombstone(self, seq: int) -> bool:
        statement = select(TOMBSTONES.c.id).where(
            TOMBSTONES.c.branch_id == self.place.branch_id, TOMBSTONES.c.seq == seq
        )
        return self.journal._read(lambda j: j._execute(statement).first()) is not None

    def _check_commits(self) -> None:
        head = self.place.head
        for page in self.journal._commit_pages(head.thread, head.branch, size=64):
            self.recomputing.prepare(page)
            for stored in page:
                if stored.version > head.version:
                    return  # it was committed since
                self._check_commit(stored)
                self.before = stored

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
        if before is not None and stored.version != before.version + 1 and stored.kind != "taken":
            self.damage("commits", stored.id, f"versions before {stored.version} are missing")
        if before is not None and stored.parent != before.hash and stored.kind != "taken":
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
        if not sha256_of(body) == stored.hash == state.get("hash"):
            self.damage("commits", stored.id, "its state was changed")
        elif tuple(state.get(k, empty) for k, empty in _OF_A_STATE.items()) != (
            stored.version, stored.parent, stored.turn,
        ):  # fmt: skip
            self.damage("commits", stored.id, "its state is of another version")
        elif stored.kind == "fork":
            self._check_fork(stored, state)
        elif stored.kind == "ingest" and state.keys() - _OF_DOCUMENTS:
            self.damage("commits", stored.id, "the state of documents says something")

    def _check_fork(self, stored: StoredCommit, state: Mapping[str, Any]) -> None:
        """Check that the first state of a branch is the one that it was forked from."""
        data = self.journal._read(lambda j: j._state_at(self.place, stored.parent))
        if data and successor(body_of(data), branch=stored.branch)["hash"] != state["hash"]:
            self.damage("commits", stored.id, "it is not the state that the branch was forked from")
