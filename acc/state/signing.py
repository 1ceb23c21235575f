"""Signatures of states: a signature proves that a holder of the key made the state.

A state's hash detects damage but does not identify the author: anybody who can write to a checkpoint
can make a state and its hash. With `Settings.state_key`, each commit is signed by an HMAC over its
hash, and a step refuses a prior state without a signature by one of the keys.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from acc.errors import ConfigurationError, StateError
from acc.state.model import CompressedCognitiveState

State = TypeVar("State", bound=CompressedCognitiveState)

Key = bytes | str
Keys = tuple[bytes, ...]

SHORTEST_KEY = 16
"""Minimum length of a key in bytes."""


def keys_of(given: Key | Sequence[Key] | None) -> Keys:
    """Return the keys in ``Settings.state_key``: the first one signs, all are accepted.

    Raises:
        ConfigurationError: A key has the wrong type or fewer bytes than `SHORTEST_KEY`.
    """
    listed = [given] if isinstance(given, bytes | str) else given
    if listed is None:
        return ()
    keys = tuple(map(_key, listed)) if isinstance(listed, Iterable) else (b"",)
    if not keys or any(len(key) < SHORTEST_KEY for key in keys):
        # The error must not reveal the key.
        raise ConfigurationError(
            "state_key is no key",
            where="Settings",
            hint=f"give at least {SHORTEST_KEY} random bytes, such as secrets.token_bytes(32); or a list of "
            "keys of which the first signs",
        )
    return keys


def _key(given: Any) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    return bytes(given) if isinstance(given, bytes | bytearray) else b""


def signature_of(state_hash: str, keys: Keys) -> str:
    """Return the signature over a state's hash by the first key; empty without keys."""
    return _by(keys[0], state_hash) if keys else ""


def is_signed(state_hash: str, signature: str, keys: Keys) -> bool:
    """Return whether one of ``keys`` made ``signature`` over this state hash."""
    return any(
        hmac.compare_digest(_by(key, state_hash).encode(), signature.encode("utf-8", "replace"))
        for key in keys
    )


def signed(state: State, keys: Keys) -> State:
    """Return ``state`` signed by the first key; unsigned if there are no keys."""
    mark = signature_of(state.hash, keys)
    return state.model_copy(update={"signature": mark}) if mark != state.signature else state


def refuse_unsigned(state: CompressedCognitiveState, keys: Keys) -> None:
    """Raise unless ``state`` is signed, empty, or made by this process (`seed`, ``adopt``).

    Raises:
        StateError: The state is unsigned, or no key of ``keys`` signed it.
    """
    if not keys or state.is_vouched or state.hash == type(state).empty().hash:
        return
    hashes = (state.hash, state.stored_hash)
    if not any(is_signed(made, state.signature, keys) for made in hashes):
        what = "not signed" if not state.signature else "signed by no key of this memory"
        raise StateError(
            f"the state is {what}",
            where=f"turn {state.turn}, hash {state.hash[:12]}",
            hint="give the state that the last step returned, or last_state(thread); keep the old key in "
            "state_key=[new, old]; or take it over with State.load(raw, adopt=Trust.USER), or as it is with "
            "memory.signed(State.load(raw))",
        )


def _by(key: bytes, state_hash: str) -> str:
    return hmac.new(key, f"acc state {state_hash}".encode(), hashlib.sha256).hexdigest()
