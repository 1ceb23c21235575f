"""``acc show``, ``diff``, ``verify`` and ``threads``: read a memory without opening its store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acc.audit.record import diff
from acc.audit.verify import verify
from acc.cli.opening import policy_of, state_key
from acc.cli.screen import table, told_json
from acc.cli.threads import LoggedThread, Record, labels, log_files, logged_thread, logged_threads
from acc.errors import AuditError, InputError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import Reason

State = CompressedCognitiveState

DEFAULT = ("default", "default", "default")
"""User, agent and tenant of a thread that has only a name."""


def show(
    memory: Path,
    thread: str | None,
    turn: int | None,
    *,
    schema: type[State] | None = None,
    style: str | None = None,
    provenance: bool = False,
    as_json: bool = False,
) -> None:
    """Print the state of a thread, at the end or after a turn."""
    logged = logged_thread(memory, thread)
    policy = policy_of(logged.last, schema=schema, style=style)
    state = state_after(logged, policy, turn)
    rendered = policy.rendered(state)
    tokens = policy.counter(rendered)
    if as_json:
        told_json({
            "thread": logged.thread.model_dump(), "turn": state.turn, "tokens": tokens,
            "rendered": rendered, "state": state.canonical(),
        })  # fmt: skip
        return
    bound = f"{tokens:,} of at most {policy.max_tokens:,} tokens"
    print(f"thread {logged.thread.thread!r}, turn {state.turn:,}: {bound}\n")
    if provenance:
        _provenance(state)
    else:
        print(rendered)


def threads(memory: Path, *, as_json: bool = False) -> None:
    """Print the threads of a memory.

    Raises:
        AuditError: Some logs cannot be read. The other threads were printed.
    """
    damaged: list[AuditError] = []
    found = logged_threads(memory, damaged)
    _tell_threads(found, as_json=as_json)
    if damaged:
        raise damaged[0]


def _tell_threads(found: Sequence[LoggedThread], *, as_json: bool) -> None:
    if as_json:
        told_json([
            {**each.thread.model_dump(), "turns": each.last["state"]["turn"],
             "tokens": each.last["tokens"], "at": each.last["at"], "log": str(each.log.path)}
            for each in found
        ])  # fmt: skip
        return
    rows: list[list[str]] = [
        [each.thread.thread, f"{each.last['state']['turn']:,}", f"{each.last['tokens']:,}",
         each.last["at"], each.log.path.stem]
        for each in found
    ]  # fmt: skip
    headings = ["thread", "turns", "tokens", "last commit", "log"]
    owners = [(each.thread.user, each.thread.agent, each.thread.tenant) for each in found]
    if set(owners) - {DEFAULT}:
        headings += ["user", "agent", "tenant"]
        rows = [[*row, *owner] for row, owner in zip(rows, owners, strict=True)]
    table(headings, rows, folds=("thread", "log"))


def state_after(logged: LoggedThread, policy: Policy, turn: int | None) -> State:
    """The state after ``turn`` on the branch of the newest state; the newest state if None.

    Raises:
        InputError: The thread has no such turn.
    """
    newest = logged.last["state"]
    if turn is None or turn == newest["turn"]:
        return policy.schema.load(newest)
    for record in logged.back():
        if record["state"]["turn"] == turn:
            return policy.schema.load(record["state"])
        if turn == 0 and record["state"]["turn"] == 1 and "prior_state" in record:
            return policy.schema.load(record["prior_state"])
    raise InputError(
        f"no turn {turn}",
        where=f"thread {logged.thread.thread!r}",
        hint=f"name one of 1 to {newest['turn']}",
    )


def _provenance(state: State) -> None:
    rows = [
        (item.id, slot.name, item.words, item.trust.word + (", endorsed" if item.endorsed else ""),
         " ".join(item.sources), str(item.turn))
        for slot, item in state.items()
    ]  # fmt: skip
    table(("id", "slot", "text", "trust", "sources", "turn"), rows, folds=("text", "sources"))


_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_UNTOLD = (Reason.CARRIED, Reason.CITES_NARROWED)
_BOOKKEEPING = ("touched",)


def tell_difference(
    memory: Path,
    thread: str | None,
    first: int | None,
    second: int | None,
    *,
    schema: type[CompressedCognitiveState] | None = None,
    as_json: bool = False,
) -> None:
    """Print the changes from turn ``first`` to turn ``second``; by default those of the last turn."""
    logged = logged_thread(memory, thread)
    newest = logged.last["state"]["turn"]
    until = newest if second is None else second
    since = until - 1 if first is None else first
    if since >= until:
        raise InputError(
            f"turn {since} is not before turn {until}",
            where=f"thread {logged.thread.thread!r}",
            hint="name the earlier turn first",
        )
    policy = policy_of(logged.last, schema=schema)
    before, after = (state_after(logged, policy, turn) for turn in (since, until))
    reasons = _reasons(logged, since, until)
    changes = [
        {**change, "reasons": reasons[change["id"]]}
        for change in diff(before, after)
        if _says_something(change)
    ]
    if as_json:
        told_json({
            "thread": logged.thread.model_dump(), "from": since, "to": until, "changes": changes,
        })  # fmt: skip
        return
    print(f"thread {logged.thread.thread!r}, turn {since:,} to {until:,}: {len(changes)} changes")
    for change in changes:
        print("\n".join(_lines(change)))


def _reasons(logged: LoggedThread, since: int, until: int) -> defaultdict[str, list[Any]]:
    """The notes of the commits in between, by item id."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for record in logged.back():
        turn = record["state"]["turn"]
        if turn <= since:
            break
        for note in record["notes"] if turn <= until else ():
            if note["item"] and note["reason"] not in _UNTOLD:
                reason = {"turn": turn, "reason": note["reason"], "detail": note["detail"]}
                found[note["item"]].append(reason)
    for reasons in found.values():
        reasons.sort(key=lambda each: int(each["turn"]))
    return found


def _says_something(change: dict[str, Any]) -> bool:
    """Whether a change is more than a repeated citation."""
    return change["change"] != "changed" or any(f not in _BOOKKEEPING for f in change["fields"])


def _lines(change: dict[str, Any]) -> list[str]:
    said = change.get("says", change.get("said", ""))
    lines = [f"{_SIGNS[change['change']]} {change['id']} {change['slot']}: {said}".rstrip(": ")]
    for name, (old, new) in change.get("fields", {}).items():
        if name not in _BOOKKEEPING:
            lines.append(f"    {name}: {_shown(old)} -> {_shown(new)}")
    for why in change["reasons"]:
        detail = f" ({why['detail']})" if why["detail"] else ""
        lines.append(f"    turn {why['turn']}: {why['reason']}{detail}")
    return lines


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def verify_logs(
    memory: Path,
    thread: str | None,
    *,
    head: str = "",
    schemas: Sequence[type[CompressedCognitiveState]] = (),
    max_tokens: int | None = None,
    as_json: bool = False,
) -> None:
    """Recompute the commits of one thread, or of all threads.

    Args:
        memory: The folder.
        thread: The thread's name; None for all.
        head: Digest of the expected newest record, or hash of the expected last state.
        schemas: Schemas that commits may use in addition to the schema each record names, such as
            those of files and earlier versions of a class.
        max_tokens: The token limit that commits may use in addition to the recorded one.
        as_json: Write JSON to stdout.

    Raises:
        AuditError: A record fails verification, or there is nothing to verify.
    """
    found = _all_logged(memory) if thread is None else [logged_thread(memory, thread)]
    if head and len(found) != 1:
        hint = "name the thread (--thread NAME)"
        raise InputError(f"one head for {len(found)} threads", where=str(memory), hint=hint)
    counts = [_recomputed(each, head, schemas, max_tokens) for each in found]
    if as_json:
        told_json([
            {**each.thread.model_dump(), "log": str(each.log.path), "commits": count,
             "redacted": redacted, "earlier_laws": earlier, "torn_bytes": each.log.torn_bytes(),
             "head": each.last["digest"], "state": each.last["state"]["hash"]}
            for each, (count, redacted, earlier) in zip(found, counts, strict=True)
        ])  # fmt: skip
        return
    for label, each, (count, redacted, earlier) in zip(labels(found), found, counts, strict=True):
        ends = each.last["digest"]
        gone = f"{redacted:,} redacted by an erasure; " if redacted else ""
        gone += f"{earlier:,} made under earlier laws, whole and in order; " if earlier else ""
        torn = each.log.torn_bytes()
        cut = f"a torn last record of {torn:,} bytes passed over; " if torn else ""
        print(
            f"{label}: {count - redacted - earlier:,} commits recomputed, all equal; {gone}{cut}head {ends}"
        )


def _all_logged(memory: Path) -> list[LoggedThread]:
    """All threads of the memory.

    Raises:
        AuditError: There is no log, or a log has no record.
    """
    found = logged_threads(memory)
    empty = dict.fromkeys(log_files(memory), "a log without a record")
    for each in found:
        del empty[each.log.path]
    if not found:
        empty.setdefault(memory / "audit", "no audit log")
    for path, what in empty.items():
        hint = "restore the log from a backup, or name another memory with --memory"
        raise AuditError(what, where=str(path), hint=hint)
    return found


def _recomputed(
    logged: LoggedThread,
    head: str,
    schemas: Sequence[type[CompressedCognitiveState]],
    max_tokens: int | None,
) -> tuple[int, int, int]:
    policies: dict[str, Policy] = {}
    seen = set()
    try:
        for record in logged.log.records():
            if (fingerprint := record["policy"]["fingerprint"]) not in seen:
                seen.add(fingerprint)
                policies |= _policies(record, schemas, max_tokens)
        redacted: list[int] = []
        earlier: list[int] = []
        count = verify(
            logged.log, policies, head=head, redacted=redacted, earlier=earlier,
            state_key=state_key(),
        )  # fmt: skip
        return count, len(redacted), len(earlier)
    except (KeyError, TypeError, AttributeError) as error:
        raise AuditError(
            f"not a record of this library: {type(error).__name__} {error}",
            where=str(logged.log.path),
            hint="restore the log from a backup",
        ) from error


def _policies(
    record: Record,
    schemas: Sequence[type[CompressedCognitiveState]],
    max_tokens: int | None,
) -> dict[str, Policy]:
    """The policies that may have made a record, by fingerprint.

    These are the policies of ``schemas``. If none has the record's fingerprint, the policy of the
    schema that the record names is added.
    """
    given = [policy_of(record, schema=schema, max_tokens=max_tokens) for schema in schemas]
    found = {policy.fingerprint: policy for policy in given}
    if record["policy"]["fingerprint"] not in found:
        own = policy_of(record, max_tokens=max_tokens)
        found[own.fingerprint] = own
    return found
