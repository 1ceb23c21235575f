"""``acc verify``: every commit of the audit logs, recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acc.cli.opening import policy_of, state_key
from acc.cli.screen import told_json
from acc.cli.threads import LoggedThread, Record, labels, log_files, logged_thread, logged_threads
from acc.errors import AuditError, InputError
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.verify import verify


def verify_logs(
    memory: Path,
    thread: str | None,
    *,
    head: str = "",
    schemas: Sequence[type[CompressedCognitiveState]] = (),
    max_tokens: int | None = None,
    as_json: bool = False,
) -> None:
    """Recompute the commits of one thread, or of all.

    Args:
        memory: The folder.
        thread: Its name; None for all.
        head: Digest of the record that must be the newest, or hash of the state it must end with.
        schemas: Schemas that commits may have been made under, beside the one that each record
            names: those of files, and earlier versions of a class.
        max_tokens: The only bound likewise.
        as_json: Tell it in JSON.

    Raises:
        AuditError: A record does not hold, and says which; or there is nothing to verify.
    """
    found = _all_logged(memory) if thread is None else [logged_thread(memory, thread)]
    if head and len(found) != 1:
        mend = "name the thread (--thread NAME)"
        raise InputError(f"one head for {len(found)} threads", where=str(memory), mend=mend)
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
    """Every thread, where each log has a record: one that has none was emptied, or never begun."""
    found = logged_threads(memory)
    empty = dict.fromkeys(log_files(memory), "a log without a record")
    for each in found:
        del empty[each.log.path]
    if not found:
        empty.setdefault(memory / "audit", "no audit log")
    for path, what in empty.items():
        mend = "restore the log from a backup, or name another memory with --memory"
        raise AuditError(what, where=str(path), mend=mend)
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
            mend="restore the log from a backup",
        ) from error


def _policies(
    record: Record,
    schemas: Sequence[type[CompressedCognitiveState]],
    max_tokens: int | None,
) -> dict[str, Policy]:
    """By fingerprint, the policies that a record may have been made under.

    Those of ``schemas``, if one of them is the record's; else that of the schema it names.
    """
    given = [policy_of(record, schema=schema, max_tokens=max_tokens) for schema in schemas]
    found = {policy.fingerprint: policy for policy in given}
    if record["policy"]["fingerprint"] not in found:
        own = policy_of(record, max_tokens=max_tokens)
        found[own.fingerprint] = own
    return found
