"""Policies in the journal: their numbers by fingerprint, so that a commit of last year recomputes today.

A policy's fingerprint is the digest of its row, so that a row that was changed shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from acc.state.policy import LAWS, RENDERER, Policy


def body_of(text: str) -> Mapping[str, Any]:
    """Return what a row says; empty if it cannot be read."""
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) and {"schema", "counter"} <= body.keys() else {}


def damage_of(fingerprint: str, body: str | None) -> str:
    """Return what is wrong with the row of a policy; empty if nothing is."""
    if body is None:
        return f"the row of its policy {fingerprint} is missing"
    if hashlib.sha256(body.encode()).hexdigest()[:16] == fingerprint:
        return ""
    return f"the row of its policy {fingerprint} was changed"


def why_unknown(body: str, known: Iterable[Policy]) -> str:
    """Return why no known policy is the one of a row that nobody changed."""
    stored: dict[str, Any] = json.loads(body)
    schema, counter = stored["schema"], stored["counter"]
    counters = {each.counter.name for each in known if each.schema.__name__ == schema}
    if not counters:
        return f"the schema {schema} is not known here"
    if counter not in counters:
        return f"the token counter {counter} is not known here"
    if (stored["laws"], stored["renderer"]) != (LAWS, RENDERER):
        return f"another version of the library made it (laws {stored['laws']})"
    return f"the schema {schema} has another form here"


def policy_of(fingerprint: str, body: str | None, known: Iterable[Policy]) -> Policy | None:
    """Return the policy with this fingerprint, or None.

    Args:
        fingerprint: The fingerprint that a commit names.
        body: What the policy says (`Policy.body`) as canonical JSON, if the journal has it.
        known: Policies with schema, counter and digest key. One of them with the numbers of ``body`` counts, too.
    """
    stored: dict[str, Any] = json.loads(body) if body else {}
    for policy in known:
        if policy.fingerprint == fingerprint:
            return policy
        names = (policy.schema.__name__, policy.counter.name)
        if not stored or names != (stored["schema"], stored["counter"]):
            continue
        speakers = stored["speakers"]
        older = replace(
            policy,
            max_tokens=stored["max_tokens"],
            style=stored["style"],
            lifting=stored["lifting"],
            pinned_share=stored["pinned_share"],
            speakers=None if speakers is None else frozenset(speakers),
        )
        if older.fingerprint == fingerprint:
            return older
    return None
