"""What a thread loses by an erasure: its branches as they were read, and which of their commits are made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acc.errors import StateError
from acc.journal import Head, Journal, StoredCommit, StoredMessage, ThreadKey
from acc.models.protocol import Usage
from acc.state.policy import Policy

Rows = frozenset[tuple[str, int]]
"""Branch and number of messages of a thread."""


@dataclass(frozen=True)
class Loss:
    """What a thread loses: messages, and commits of its branches."""

    thread: ThreadKey
    rows: Rows
    lines: tuple[Line, ...]


@dataclass
class Line:
    """A branch as it was read.

    Attributes:
        commits: Its own commits.
        messages: What it sees that is not erased, by number.
        lost: Numbers of its own messages that it loses.
        gone: Refs of what it saw and loses.
        stays: How many of its commits stay: the first ones.
    """

    head: Head
    commits: list[StoredCommit]
    messages: dict[int, StoredMessage]
    lost: frozenset[int]
    gone: frozenset[str]
    stays: int = 0

    @property
    def anew(self) -> list[StoredCommit]:
        """The commits that are made anew."""
        return self.commits[self.stays :]

    @property
    def groups(self) -> list[list[StoredCommit]]:
        """The commits that are made anew, those of one step together."""
        found: list[list[StoredCommit]] = []
        for each in self.anew:
            if found and _goes_on(found[-1][0], each):
                found[-1].append(each)
            else:
                found.append([each])
        return found

    def loses(self, stored: StoredCommit) -> bool:
        """Whether a commit took a message that goes."""
        first, last = stored.span
        return any(first <= seq <= last for seq in self.lost)

    def taken(self, stored: StoredCommit) -> list[StoredMessage]:
        """Return the messages that a commit took and that stay."""
        first, last = stored.span
        span = (self.messages.get(seq) for seq in range(first, last + 1) if last)
        name = self.head.branch
        return [m for m in span if m and m.version == stored.version and m.branch == name]


def _goes_on(first: StoredCommit, each: StoredCommit) -> bool:
    """Whether a commit belongs to the step of ``first``: a further request's, a judge's, or a flush's after it."""
    if each.span[1] or each.turn != first.turn:
        return False
    return all(stored.kind == "step" and not is_act(stored) for stored in (first, each))


def is_act(stored: StoredCommit) -> bool:
    """Whether it is an act beside the steps: the operator's, or messages were withdrawn."""
    given = given_in(stored)
    return "withdrawn" in given or (given.get("proposal") or {}).get("author") == "operator"


def given_in(stored: StoredCommit) -> Mapping[str, Any]:
    """Return what a commit was given."""
    found: Mapping[str, Any] = (stored.record or {}).get("given") or {}
    return found


def read_lines(
    journal: Journal, key: ThreadKey, rows: Rows, refs: frozenset[str]
) -> Iterator[Line]:
    """Yield the branches of a thread, the parents first, each with the first commit that is to be made anew."""
    changed: set[str] = set()
    for head in journal.branches(key):
        line = _line(journal, head, rows, refs)
        for each in line.commits:  # the first ones stay, until one read or took what goes
            is_reader = not read_refs(each).isdisjoint(refs)
            if line.loses(each) or is_reader or (each.kind == "fork" and each.parent in changed):
                break
            line.stays += 1
        changed |= {each.hash for each in line.anew}
        yield line


def _line(journal: Journal, head: Head, rows: Rows, refs: frozenset[str]) -> Line:
    key = head.thread
    seen = list(journal.messages(key, branch=head.branch, also_open=True))
    lost = {each.seq: each.message.ref for each in seen if (each.branch, each.seq) in rows}
    kept = {each.seq: each for each in seen if each.seq not in lost and each.digest}
    commits = list(journal.commits(key, head.branch))
    if bad := next((each for each in commits if each.problem), None):
        raise StateError(
            f"version {bad.version} is damaged: {bad.problem}", where=str(key),
            hint="restore a backup, or erase the thread whole",
        )  # fmt: skip
    blank = {each.seq for each in seen if not each.digest and not each.version}  # nothing took it
    own = frozenset(n for branch, n in rows if branch == head.branch and n not in blank)
    return Line(head, commits, kept, own, frozenset(lost.values()) | refs)


def read_refs(stored: StoredCommit) -> set[str]:
    """Return the refs of what a commit's compressor read, and of what commit was told of before."""
    given = given_in(stored)
    told = (*given.get("evidence", ()), *given.get("heard", ()))
    return {each[0] for each in given.get("read", ())} | {str(e.get("ref", "")) for e in told}


def own_policy(line: Line, policies: Sequence[Policy]) -> Policy:
    """Return the policy with the schema that a branch's states have."""
    names = {str(c.state.get("schema_name")) for c in line.commits if c.state is not None}
    for policy in policies:
        if names <= {base.__name__ for base in policy.schema.__mro__}:
            return policy
    raise StateError(
        f"the schema {', '.join(sorted(names))} is not known", where=str(line.head.thread),
        hint="give its policy: Evidence(memory, policies=[Policy(schema=...)])",
    )  # fmt: skip


def price_of(lines: Sequence[Line]) -> Usage:
    """Return what a model is asked at most, by what it was asked before."""
    usage = Usage()
    for group in (group for line in lines for group in line.groups):
        if group[0].kind == "step" and not is_act(group[0]) and not is_plain(group):
            spent = [Usage(**(each.record or {}).get("usage", {})) for each in group]
            whole = sum(spent, Usage())
            usage += whole if whole.requests else replace(whole, requests=1)
    return usage


def is_plain(group: Sequence[StoredCommit]) -> bool:
    """Whether nothing was compressed or judged."""
    return all(not {"proposal", "judgements"} & given_in(each).keys() for each in group)
