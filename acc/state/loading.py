"""The only loader for stored states: checks schema, hash and signature; migrates or adopts the state.

A state stored under an earlier version of its schema is migrated. The result is a child of the stored
state, which makes the migration visible in the hash chain.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from acc.errors import ConfigurationError, StateError
from acc.state.items import Item
from acc.state.migrations import Stored, class_named, migrated, stored_name, without_other_roles
from acc.state.reasons import EvictedItem
from acc.state.slots import read_slots
from acc.text.lines import sha256_of
from acc.turn.observations import Channel, Trust

if TYPE_CHECKING:
    from acc.state.model import CompressedCognitiveState

State = TypeVar("State", bound="CompressedCognitiveState")


def load_state(schema: type[State], raw: Any, adopt: Trust | None) -> State:
    """Implement `CompressedCognitiveState.load`."""
    if raw is None:
        return schema.empty()
    if type(raw) is schema and raw.hash == raw.digest() and raw.schema_name == stored_name(schema):
        return raw
    stored = _plain(schema, raw)
    name = str(stored.get("schema_name", ""))
    # A class that got slots for roles, or has none any more, takes up what was stored before.
    before = without_other_roles(name, schema.__name__)
    if class_named(before) not in (schema.__name__, schema.__name__.partition("[")[0]):
        raise StateError(
            f"the state has the schema {name!r}",
            where=f"loading {schema.__name__}",
            hint=f"load it with that class, or start from {schema.__name__}.empty()",
        )
    if name == stored_name(schema):
        state = _validated(schema, stored)
        if state.hash == state.digest():
            return state
    is_intact = stored.get("hash") == _digest(stored)
    if not is_intact and adopt is None:
        raise StateError(
            "the state was changed after it was committed",
            where=f"version {stored.get('version')}, hash {str(stored.get('hash'))[:12]}",
            hint="restore the committed state, or load it with adopt=Trust.USER or lower",
        )
    state = _of_today(schema, stored, name)
    if adopt is not None and not is_intact:
        return _adopted(state, adopt).vouched()
    today = state.model_copy(update={"parent": state.hash}).sealed()
    today = today.model_copy(update={"signature": state.signature})
    today._stored_hash = state.hash
    return today


def migrated_items(schema: type[State], stored: str, items: Stored) -> Stored:
    """Migrate items by slot from the schema version ``stored``; a `StateError` names an item that cannot be."""
    stored = without_other_roles(stored, schema.__name__)
    return migrated(schema, schema.slots(), stored, items)


def set_aside_today(schema: type[State], record: Mapping[str, Any]) -> list[EvictedItem]:
    """Return the items that an audited commit set aside, migrated to ``schema``, in recorded order."""
    state = record["state"]
    # A migration may read any slot that its version had.
    stored: Stored = {name: [] for name, value in state.items() if _is_items(schema, name, value)}
    for gone in record["set_aside"]:
        stored.setdefault(gone["slot"], []).append(gone["item"])
    reasons = {gone["item"]["id"]: gone["reason"] for gone in record["set_aside"]}
    today = migrated_items(schema, str(state["schema_name"]), stored)
    places = {item: place for place, item in enumerate(reasons)}
    found = [
        EvictedItem(slot=name, reason=reasons[item["id"]], item=_item_of(schema, name, item))
        for name, items in today.items()
        for item in items
    ]
    return sorted(found, key=lambda gone: places[gone.item.id])


def _item_of(schema: type[State], name: str, stored: Mapping[str, Any]) -> Item:
    slot = read_slots(schema).get(name)
    if slot is None:
        raise _no_state(schema, f"there is no slot {name!r}", str(stored["id"]))
    try:
        return slot.item.model_validate(stored)
    except ValidationError as error:
        raise _no_state(schema, error.errors()[0]["msg"], f"{name}, {stored['id']}") from error


def _of_today(schema: type[State], stored: Mapping[str, Any], name: str) -> State:
    """Return the stored state migrated to the current version; its hash is not computed yet."""
    slots = {key: value for key, value in stored.items() if _is_items(schema, key, value)}
    rest = {key: value for key, value in stored.items() if key not in slots}
    today = {**rest, **migrated_items(schema, name, slots)}
    return _validated(schema, {**today, "schema_name": stored_name(schema)})


def _is_items(schema: type[State], key: str, value: Any) -> bool:
    """Return whether a stored value holds the items of a slot in the current or an earlier schema."""
    known = key in read_slots(schema) or key not in schema.model_fields
    return known and isinstance(value, list) and all(isinstance(i, dict) for i in value)


def _plain(schema: type[State], raw: Any) -> dict[str, Any]:
    """Return the stored state as plain JSON values."""
    try:
        if isinstance(raw, BaseModel):
            canonical = getattr(raw, "canonical", None)
            raw = canonical() if callable(canonical) else raw.model_dump(mode="json")
        if isinstance(raw, str | bytes):
            raw = from_json(raw)
    except ValueError as error:
        raise _no_state(schema, f"not JSON: {error}", "the whole state") from error
    if not isinstance(raw, Mapping):
        raise _no_state(schema, f"{type(raw).__name__}, not an object", "the whole state")
    return dict(raw)


def _validated(schema: type[State], stored: Mapping[str, Any]) -> State:
    try:
        state = schema.model_validate(stored)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole state"
        raise _no_state(schema, first["msg"], place) from error
    for name in read_slots(schema) if schema.projected_for else ():
        if name not in schema.slots() and getattr(state, name):
            raise _no_state(schema, f"{schema.projected_for!r} has no slot {name!r} any more", name)
    return state


def _no_state(schema: type[State], what: str, place: str) -> StateError:
    return StateError(
        f"this is not a state of {stored_name(schema)}: {what}",
        where=place,
        hint="pass the unchanged result of canonical(); if the schema has changed since, add a "
        "migration (acc schema diff OLD NEW)",
    )


def _digest(stored: Mapping[str, Any]) -> str:
    """Return the hash that a stored state of any schema should have; empty if it cannot be hashed."""
    try:
        return sha256_of({k: v for k, v in stored.items() if k not in ("hash", "signature")})
    except (TypeError, ValueError):
        return ""


def _adopted(state: State, trust: Trust) -> State:
    """Cap every trust at ``trust``, and raise the counter to the highest item number in use."""
    lowered = {
        name: tuple(
            i.model_copy(update={"trust": min(i.trust, trust)}) for i in getattr(state, name)
        )
        for name in state.slots()
    }
    pending = tuple(
        o if o.trust <= trust else o.model_copy(update={"channel": Channel[trust.name]})
        for o in state.pending
    )
    numbers = (int(item.id[1:]) for _, item in state.items() if item.id[1:].isdigit())
    changed = {
        **lowered,
        **dict.fromkeys(("lifted", "doubted", "evicted", "feedback"), ()),
        "pending": pending,
        "bound_to": "",
        "parent": state.hash,
        "counter": max(state.counter, max(numbers, default=0)),
    }
    return state.model_copy(update=changed).sealed()


# --- signatures ---
#
# A state's hash detects damage, but does not tell who made the state: anybody who can write to a checkpoint can
# make a state and its hash. With `Settings.state_key`, each commit is signed by an HMAC over its hash, and a step
# refuses a prior state that no key signed.

Key = bytes | str
Keys = tuple[bytes, ...]

SHORTEST_KEY = 16
"""Minimum length of a key in bytes."""


def keys_of(given: Key | Sequence[Key] | None) -> Keys:
    """Return the keys in ``Settings.state_key``: the first one signs, all are accepted.

    Raises:
        ConfigurationError: A key has the wrong type or is too short.
    """
    listed = [given] if isinstance(given, bytes | str) else given
    if listed is None:
        return ()
    keys = tuple(map(_key, listed)) if isinstance(listed, Iterable) else (b"",)
    if not keys or any(len(key) < SHORTEST_KEY for key in keys):
        # The error must not reveal the key.
        raise ConfigurationError(
            "state_key is not a valid key",
            where="Settings",
            hint=f"give at least {SHORTEST_KEY} random bytes, such as secrets.token_bytes(32), or a list of "
            "such keys; the first one signs",
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
    """Raise `StateError` unless ``state`` is signed by a key, empty, or vouched for by this process."""
    if not keys or state.is_vouched or state.hash == type(state).empty().hash:
        return
    hashes = (state.hash, state.stored_hash)
    if not any(is_signed(made, state.signature, keys) for made in hashes):
        what = "not signed" if not state.signature else "signed by no key of this memory"
        raise StateError(
            f"the state is {what}",
            where=f"turn {state.turn}, hash {state.hash[:12]}",
            hint="pass the state that the last step returned, or last_state(thread); if the key has changed, set "
            "state_key=[new, old]; to accept this state, use memory.signed(State.load(raw)), or "
            "State.load(raw, adopt=Trust.USER) to lower its trust",
        )


def _by(key: bytes, state_hash: str) -> str:
    return hmac.new(key, f"acc state {state_hash}".encode(), hashlib.sha256).hexdigest()
