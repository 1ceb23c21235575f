"""Policies in the journal: their numbers by fingerprint, so that a commit of last year recomputes today."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from acc.state.policy import Policy
from acc.text.lines import canonical_json


def policy_body(policy: Policy) -> str:
    """Return what a policy says, as JSON; code and keys by name or not at all."""
    return canonical_json(
        {
            "schema": policy.schema.__name__,
            "counter": policy.counter.name,
            "max_tokens": policy.max_tokens,
            "style": policy.style,
            "lifting": policy.lifting,
            "pinned_share": policy.pinned_share,
            "speakers": None if policy.speakers is None else sorted(policy.speakers),
        }
    )


def policy_of(fingerprint: str, body: str | None, known: Iterable[Policy]) -> Policy | None:
    """Return the policy with this fingerprint, or None.

    Args:
        fingerprint: The fingerprint that a commit names.
        body: `policy_body` of the policy, if the journal has it.
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
