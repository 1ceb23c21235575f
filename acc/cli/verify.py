"""``acc verify``: every commit of the audit logs, recomputed."""

from __future__ import annotations

from pathlib import Path

from acc.cli.opening import policy_of
from acc.cli.screen import told_json
from acc.cli.threads import LoggedThread, logged_thread, logged_threads
from acc.errors import AuditError, InputError
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.verify import verify


def verify_logs(
    memory: Path,
    thread: str | None,
    *,
    head: str = "",
    schema: type[CompressedCognitiveState] | None = None,
    max_tokens: int | None = None,
    as_json: bool = False,
) -> None:
    """Recompute the commits of one thread, or of all.

    Args:
        memory: The folder.
        thread: Its name; None for all.
        head: Hash of the state that must be the newest.
        schema: The only schema that commits may have been made under; by default their own.
        max_tokens: The only bound likewise.
        as_json: Tell it in JSON.

    Raises:
        AuditError: A record does not hold; says which.
    """
    found = logged_threads(memory) if thread is None else [logged_thread(memory, thread)]
    if head and len(found) != 1:
        mend = "name the thread (--thread NAME)"
        raise InputError(f"one head for {len(found)} threads", where=str(memory), mend=mend)
    counts = [_recomputed(each, head, schema, max_tokens) for each in found]
    if as_json:
        told_json([
            {**each.thread.model_dump(), "log": str(each.log.path), "commits": count,
             "redacted": redacted, "head": each.last["state"]["hash"]}
            for each, (count, redacted) in zip(found, counts, strict=True)
        ])  # fmt: skip
        return
    for each, (count, redacted) in zip(found, counts, strict=True):
        ends = each.last["state"]["hash"]
        gone = f"{redacted:,} redacted by an erasure; " if redacted else ""
        print(
            f"{each.thread.thread}: {count - redacted:,} commits recomputed, all equal; {gone}head {ends}"
        )


def _recomputed(
    logged: LoggedThread,
    head: str,
    schema: type[CompressedCognitiveState] | None,
    max_tokens: int | None,
) -> tuple[int, int]:
    policies: dict[str, Policy] = {}
    seen = set()
    try:
        for record in logged.log.records():
            if (fingerprint := record["policy"]["fingerprint"]) not in seen:
                seen.add(fingerprint)
                policy = policy_of(record, schema=schema, max_tokens=max_tokens)
                policies[policy.fingerprint] = policy
        redacted: list[int] = []
        return verify(logged.log, policies, head=head, redacted=redacted), len(redacted)
    except (KeyError, TypeError, AttributeError) as error:
        raise AuditError(
            f"not a record of this library: {type(error).__name__} {error}",
            where=str(logged.log.path),
            mend="restore the log from a backup",
        ) from error
