"""The commits of a branch, and each as a line of the list, which holds nobody's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from acc.errors import AuditError, InputError
from acc.inspector.states import Body, StateReader, changes, is_sound
from acc.journal import Journal, StoredCommit, ThreadKey
from acc.journal.record import notes_of
from acc.state.reasons import LEFT, REFUSED
from acc.text.tokens import utf8_quarter


def commits_of(
    journal: Journal, key: ThreadKey, branch: str, after: int = 0
) -> Iterator[StoredCommit]:
    """Yield the commits after a version that led to a branch's head, oldest first, from the branches before it too."""
    if after and after >= journal.head(key, branch).version:
        return
    names = [name for name, _ in journal.lineage(key, branch)]
    firsts = [next(journal.commits(key, name), None) for name in names]
    for name, own, child in zip(names, firsts, [*firsts[1:], None], strict=True):
        if child is not None and child.version <= after + 1:
            continue  # all before the fork is too old
        for commit in journal.commits(key, name, after if own and own.version <= after else 0):
            if child is not None and commit.version >= child.version:
                break  # later than the fork
            if commit.version > after:
                yield commit


def commit_at(journal: Journal, key: ThreadKey, branch: str, version: int) -> StoredCommit:
    """Return a commit of a branch itself; raise `InputError` if there is none."""
    try:
        found = next(journal.commits(key, branch, version - 1, page=1), None)
    except AuditError:  # nothing, or a damaged row, stands before it
        found = next((c for c in journal.commits(key, branch) if c.version == version), None)
    if found is None or found.version != version:
        hint = "open the thread again"
        raise InputError("the journal has no such commit", where=str(key), hint=hint)
    return checked(found)


def checked(commit: StoredCommit) -> StoredCommit:
    """Return a commit without what was changed behind the journal's back; ``problem`` says so."""
    if commit.problem:
        return commit
    if commit.state is not None and not is_sound(commit.state, commit.hash):
        return replace(commit, state=None, problem="its state was changed after the commit")
    record = commit.record or {}
    try:
        notes_of(record.get("notes", ()))
        (record.get("given", {}).get("proposal") or {}).get("author")
        [f"{ref}{place + 0}{reason}" for ref, place, reason in record.get("verdicts", ())]
        sum(record.get("usage", {}).values())
    except (ValueError, TypeError, AttributeError, KeyError):
        return replace(commit, record=None, problem="its record was not written by acc")
    return commit


def entry_of(
    commit: StoredCommit, before: StoredCommit | None, reader: StateReader
) -> dict[str, Any]:
    """Return a commit's line in the list, which follows that of the commit ``before``. It holds nobody's words."""
    record = commit.record or {}
    usage, notes = record.get("usage", {}), [note["reason"] for note in record.get("notes", ())]
    reasons = [each[2] for each in record.get("verdicts", ())]
    is_next = before is None or commit.parent == before.hash or commit.kind == "taken"
    return {
        "version": commit.version, "branch": commit.branch, "hash": commit.hash,
        "turn": commit.turn, "at": commit.at, "kind": _kind_of(commit), "said": 0,
        "outcome": _outcome_of(commit), "failed": bool(record.get("failure") or commit.problem),
        "requests": usage.get("requests", 0), "read": usage.get("input", 0),
        "wrote": usage.get("output", 0),
        "candidates": len(reasons), "admitted": reasons.count("admitted"),
        "refused": sum(each in REFUSED for each in notes),
        "evicted": sum(each in LEFT for each in notes),
        "fault": commit.problem or ("" if is_next else "it does not follow the commit before it"),
        "limit": reader.policies.get(commit.policy, {}).get("max_tokens", 0),
        **_figures(commit.state, (before and before.state) or {}, reader),
    }  # fmt: skip


def _kind_of(commit: StoredCommit) -> str:
    """Return what made a commit, in one word."""
    if commit.kind != "step":
        return str(commit.kind)
    given = (commit.record or {}).get("given", {})
    for name, kind in (("is_provisional", "provisional"), ("is_repair", "repair")):
        if given.get(name):
            return kind
    if given.get("judgements"):
        return "judge"
    if (given.get("proposal") or {}).get("author") == "operator":
        return "operator"
    return "turn" if commit.span[1] else "compression"


def _outcome_of(commit: StoredCommit) -> str:
    """Return how a commit ended, in one word."""
    record = commit.record or {}
    if commit.problem:
        return "damaged"
    if failure := str(record.get("failure", "")):
        return failure.partition(":")[0]
    kind = _kind_of(commit)
    if kind in ("turn", "compression"):
        return "compressed" if record.get("given", {}).get("proposal") else "in the tail"
    return kind


def _figures(state: Body | None, before: Body, reader: StateReader) -> dict[str, Any]:
    """Return tokens, those of the tail with long messages whole, and how many items changed."""
    if state is None:
        return {"tokens": 0, "tail": 0, "added": 0, "changed": 0, "removed": 0}
    unread = state.get("unread", ())
    kinds = [each["change"] for each in changes(before, state)]
    return {
        "tokens": reader.read(state).tokens,
        "tail": sum(e.get("tokens", 0) for e in unread if e.get("status") != "provisional"),
        **{kind: kinds.count(kind) for kind in ("added", "changed", "removed")},
    }  # fmt: skip


@dataclass
class Index:
    """The list of the commits that led to the head of a branch: small enough that a thousand open at once.

    Attributes:
        key: The thread.
        branch: The branch.
        mark: Hash and epochs up to which the journal was read. An erasure changes the epochs.
        entries: A line for each commit, the oldest first.
    """

    key: ThreadKey
    branch: str
    mark: tuple[str, tuple[int, ...]] = ("", ())
    entries: list[dict[str, Any]] = field(default_factory=list)
    _seq: int = 0

    def update(self, journal: Journal, reader: StateReader) -> None:
        """Read what was committed since, or everything if something was erased.

        Raises:
            InputError: The branch is not in the journal.
        """
        names = [name for name, _ in journal.lineage(self.key, self.branch)]
        if not names:
            hint = "choose one of the list"
            raise InputError("there is no such thread or branch", where=str(self.key), hint=hint)
        heads = [journal.head(self.key, name) for name in names]
        mark = heads[-1].hash, tuple(head.epoch for head in heads)
        if mark == self.mark:
            return
        reader.policies.update(journal.policies())
        if mark[1] != self.mark[1] or not self._add_new(journal, reader):
            self.entries, self._seq = [], 0
            self._add(reader, commits_of(journal, self.key, self.branch))
        self._count_words(journal)
        self.mark = mark

    def _add_new(self, journal: Journal, reader: StateReader) -> bool:
        """Append what came after the last line; return whether the last commit is still there."""
        last = self.entries[-1] if self.entries else None
        if last is None or last["branch"] != self.branch:
            return False
        try:
            commits = journal.commits(self.key, self.branch, last["version"] - 1)
            first = next(commits, None)
            if first is None or first.hash != last["hash"]:
                return False
            self._add(reader, commits, first)
        except AuditError:  # a damaged row, or none, stands before it
            return False
        return True

    def _add(
        self,
        reader: StateReader,
        commits: Iterable[StoredCommit],
        before: StoredCommit | None = None,
    ) -> None:
        for commit in map(checked, commits):
            self.entries.append(entry_of(commit, before, reader))
            before = commit

    def _count_words(self, journal: Journal) -> None:
        """Add the tokens of what was said to the lines of the commits that took it."""
        by_version = {entry["version"]: entry for entry in self.entries}
        for each in journal.messages(self.key, self._seq + 1, branch=self.branch):
            self._seq = each.seq
            if entry := by_version.get(each.version):
                entry["said"] += utf8_quarter(each.message.text)

    def mark_at(self, position: int) -> str:
        """Return what names the commits up to a position, which an erasure changes; empty if it is none."""
        if not 0 <= position < len(self.entries):
            return ""
        return f"{self.entries[position]['hash']}.{'.'.join(map(str, self.mark[1]))}"

    def at(self, version: int) -> dict[str, Any]:
        """Return the line of a version; raise `InputError` if there is none."""
        found = next((entry for entry in self.entries if entry["version"] == version), None)
        if found is None:
            what, hint = f"the branch has no version {version}", "open the thread again"
            raise InputError(what, where=str(self.key), hint=hint)
        return found
