"""The content of an audit record: all inputs of a commit, its changes, and a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from acc.commit.commit import LAWS, Commit
from acc.errors import AuditError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.protocol import Thread
from acc.text.lines import canonical_json
from acc.turn.observations import Evidence
from acc.turn.turn import Turn


def record(
    *,
    thread: Thread,
    policy: Policy,
    prior: CompressedCognitiveState,
    turn: Turn,
    evidence: Sequence[Evidence],
    proposal: Proposal | None,
    done: Commit,
    adopted: bool,
    **measured: Any,
) -> dict[str, Any]:
    """Return the audit record of one commit, from the prior state and all its other inputs.

    ``proposal`` is None if the compression failed. ``adopted`` says that an operator adopted the prior
    state, which no commit of this log needs to have made. ``measured`` are further fields, such as verdicts,
    milliseconds and failures.
    """
    return {
        "thread": thread.model_dump(),
        "laws": LAWS,
        "policy": {
            "fingerprint": policy.fingerprint,
            "schema": f"{policy.schema.__module__}:{policy.schema.__qualname__}",
            "max_tokens": policy.max_tokens,
            "counter": policy.counter.name,
            "style": policy.style,
            "lifting": policy.lifting,
        },
        "prior": prior.hash,
        **({"adopted": True} if adopted else {}),
        "turn": turn.model_dump(mode="json"),
        "evidence": [e.model_dump(mode="json") for e in evidence],
        "proposal": proposal.model_dump(mode="json") if proposal else None,
        "state": done.canonical(),
        "notes": [note.model_dump(mode="json") for note in done.notes],
        "set_aside": [gone.model_dump(mode="json") for gone in done.set_aside],
        "diff": diff(prior, done.state),
        "tokens": done.tokens,
        **measured,
    }


def diff(old: CompressedCognitiveState, new: CompressedCognitiveState) -> list[dict[str, Any]]:
    """Return the difference of two states: added and removed items, and changed fields."""
    before = {item.id: (slot.name, item) for slot, item in old.items()}
    after = {item.id: (slot.name, item) for slot, item in new.items()}
    changes: list[dict[str, Any]] = []
    touched = (i for i in before.keys() | after.keys() if before.get(i) != after.get(i))
    for item_id in sorted(touched, key=_by_number):
        if item_id not in after:
            slot, item = before[item_id]
            changes.append({"change": "removed", "slot": slot, "id": item_id, "said": item.words})
        elif item_id not in before:
            slot, item = after[item_id]
            changes.append({"change": "added", "slot": slot, "id": item_id, "says": item.words})
        else:
            slot, item = after[item_id]
            was, now = (x[1].model_dump(mode="json") for x in (before[item_id], after[item_id]))
            names = [k for k in {**was, **now} if was.get(k) != now.get(k)]
            fields = {k: [was.get(k), now.get(k)] for k in names}
            changes.append({"change": "changed", "slot": slot, "id": item_id, "fields": fields})
    return changes


_UNDIGESTED = "0" * 64
_DIGEST_FIELD = f'"digest":"{_UNDIGESTED}"'


def digested(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the record's line, including its digest, and the digest."""
    written = canonical_json({**record, "digest": _UNDIGESTED})
    digest = _sha256(written)
    return written.replace(_DIGEST_FIELD, f'"digest":"{digest}"', 1) + "\n", digest


def digest_of(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the record's canonical JSON, with 64 zeros as its digest."""
    return _sha256(canonical_json({**record, "digest": _UNDIGESTED}))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_record(entry: Any) -> bool:
    """Return whether ``entry`` has the fields that every reader needs: thread, state, digest."""
    if not isinstance(entry, dict) or not isinstance(entry.get("digest"), str):
        return False
    thread, state = entry.get("thread"), entry.get("state")
    return (
        isinstance(thread, dict)
        and {"thread"} <= thread.keys() <= Thread.model_fields.keys()
        and all(isinstance(name, str) for name in thread.values())
        and isinstance(state, dict)
        and {"hash", "branch"} <= state.keys()
    )


def parents_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the hash of the state that a record's commit continued, and that of the state before it.

    A branch begins with a copy of a state, under a hash of its own; only the state before it, which is the
    original, was committed. The second hash is empty unless the record has its prior state.
    """
    return entry.get("prior", ""), entry.get("prior_state", {}).get("parent", "")


def is_whole(line: bytes) -> bool:
    """Return whether a line is a complete record. A kill may leave the last one incomplete or unterminated."""
    if line.endswith(b"\n"):
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def damaged(what: str, where: str) -> AuditError:
    """Return the error of a log that only a backup repairs."""
    return AuditError(what, where=where, hint="restore the log from a backup")


def changed(where: str) -> AuditError:
    return damaged("the audit record was changed", where)


def _by_number(item_id: str) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, item_id))
    return (int(digits or 0), item_id)
