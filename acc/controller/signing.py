"""Signed states: a checkpoint's state that the journal does not hold is taken only from who has the key.

The journal knows the states that it committed by their hashes. The signature is for the others: after a restore from
a backup, or in another memory of the same deployment.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from acc.errors import ConfigurationError
from acc.journal import ThreadKey
from acc.state.model import CompressedCognitiveState
from acc.step import Step

S = TypeVar("S", bound=CompressedCognitiveState)

StateKey = bytes | str | Sequence[bytes | str] | None

LEAST = 16
"""Bytes of a key at least."""


def keys_of(given: StateKey) -> tuple[bytes, ...]:
    """Return the keys; the first signs, all are accepted.

    Raises:
        ConfigurationError: A key is too short.
    """
    if given is None:
        return ()
    each = [given] if isinstance(given, bytes | str) else list(given)
    keys = tuple(key.encode() if isinstance(key, str) else key for key in each)
    if not keys or any(not isinstance(key, bytes) or len(key) < LEAST for key in keys):
        raise ConfigurationError(
            f"a state_key has fewer than {LEAST} bytes",
            where="Settings",
            hint="give secrets.token_bytes(32), from where your secrets are",
        )
    return keys


def signed(state: S, thread: ThreadKey, keys: Sequence[bytes]) -> S:
    """Return the state with its signature; the same state without keys."""
    if not keys:
        return state
    return state.model_copy(update={"signature": _signature(state, thread, keys[0])})


def signed_step(step: Step[S], thread: ThreadKey, keys: Sequence[bytes]) -> Step[S]:
    """Return the step with its state signed; the same step without keys."""
    return replace(step, state=signed(step.state, thread, keys)) if keys else step


def is_signed(state: CompressedCognitiveState, thread: ThreadKey, keys: Sequence[bytes]) -> bool:
    """Whether one of the keys signed this state of this thread."""
    return any(hmac.compare_digest(state.signature, _signature(state, thread, k)) for k in keys)


def _signature(state: CompressedCognitiveState, thread: ThreadKey, key: bytes) -> str:
    body = f"{thread.digest(b'')}\x00{state.hash}".encode()
    return hmac.new(key, body, hashlib.sha256).hexdigest()
