"""Schemas by name, and the policy under which a thread was committed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TypeAlias

from acc.errors import ConfigurationError
from acc.journal import Journal
from acc.journal.recompute import policy_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.step import Cadence
from acc.update import KEYLESS, WITH_A_MODEL

Schema: TypeAlias = type[CompressedCognitiveState]

SCHEMA_VARIABLE = "ACC_SCHEMA"
"""Environment variable that names schemas of the operator's own, as file.py or module:Class, separated by commas."""

INSTALL = f"install the schema's package, or set {SCHEMA_VARIABLE}=file.py or module:Class"

STATE_KEY_VARIABLE = "ACC_STATE_KEY"
"""Environment variable with the keys that sign states, separated by commas (`Settings.state_key`)."""

DIGEST_KEY_VARIABLE = "ACC_DIGEST_KEY"
"""Environment variable with the key of the messages' digests (`Policy.digest_key`)."""


def schema_of(class_name: str) -> Schema:
    """Return the installed class with the name that a state or a policy carries.

    A stored name is untrusted: only the generic class, published ones and those of ACC_SCHEMA are loaded.

    Raises:
        ConfigurationError: None of them has the name.
    """
    if class_name == CompressedCognitiveState.__name__:
        return CompressedCognitiveState
    from acc.schema.catalog import published, schema_named

    own = filter(None, os.environ.get(SCHEMA_VARIABLE, "").split(","))
    for name in (*own, *(entry.value for entry in published().values())):
        with suppress(ConfigurationError):  # another package that is broken is no matter here
            if (found := schema_named(name)).__name__ == class_name:
                return found
    what = "the thread uses a schema that is not installed"
    raise ConfigurationError(what, where=class_name, hint=INSTALL)


def state_keys() -> list[bytes | str] | None:
    """Return the keys that sign states, from ACC_STATE_KEY; None if there are none."""
    return [key for key in os.environ.get(STATE_KEY_VARIABLE, "").split(",") if key] or None


def digest_key() -> bytes:
    """Return the key of the messages' digests, from ACC_DIGEST_KEY; empty if there is none."""
    return os.environ.get(DIGEST_KEY_VARIABLE, "").encode()


def stored_policies(journal: Journal) -> tuple[list[Policy], list[str]]:
    """Return a policy for each schema of a journal's commits, and the names of schemas that are not installed."""
    found, missing = [], []
    for name in dict.fromkeys(str(body["schema"]) for body in journal.policies().values()):
        try:
            found.append(Policy(schema=schema_of(name), digest_key=digest_key()))
        except ConfigurationError:
            missing.append(name)
    return found, missing


def policy_for(journal: Journal, fingerprint: str) -> Policy:
    """Return the policy of a commit.

    Raises:
        ConfigurationError: Its schema is not installed or has changed, or its token counter is not known here.
    """
    body = journal.policies().get(fingerprint)
    if body is None:
        return Policy(digest_key=digest_key())
    known = Policy(schema=schema_of(body["schema"]), digest_key=digest_key())
    found = policy_of(fingerprint, json.dumps(dict(body)), [known])
    if found is None:
        what = f"the schema {body['schema']} has changed, or its counter is not {body['counter']!r}"
        hint = "use the Python library with the schema and the counter of that time"
        raise ConfigurationError(what, where=f"policy {fingerprint}", hint=hint)
    return found


def cadence_of(policy: Policy) -> Cadence:
    """Return the cadence by which a tail is shown: it is not stored, so that of the bound's default."""
    known = dict((WITH_A_MODEL, KEYLESS))
    return known.get(policy.max_tokens, Cadence())
