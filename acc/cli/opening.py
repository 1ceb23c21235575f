"""Opening a memory for writing: its policy, its store, and a folder that may be temporary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from acc.cli.threads import Record
from acc.compress import Compressor
from acc.controller import MemoryController
from acc.errors import ConfigurationError
from acc.policy import Policy
from acc.render import Style
from acc.state import CompressedCognitiveState
from acc.tokens import utf8_quarter

OURS = ("acc", "acc_schemas")
"""Packages whose schemas a record may name: importing runs code, and a record is only data."""


@contextmanager
def folder(memory: Path | None) -> Iterator[Path]:
    """``memory``, or a temporary folder that is removed at the end."""
    if memory is not None:
        yield memory
        return
    with TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)


@contextmanager
def opened(
    memory: Path,
    policy: Policy,
    *,
    server: tuple[str, int] | None = None,
    compressor: Compressor | None = None,
) -> Iterator[MemoryController]:
    """The memory in a folder; where a server is named, only the audit logs are in the folder."""
    if server is None:
        controller = MemoryController.open(memory, compressor=compressor, policy=policy)
    else:
        from acc.stores.chroma import ChromaArtifactStore

        store = ChromaArtifactStore.server(*server)
        controller = MemoryController(store, compressor, policy=policy, audit=memory / "audit")
    with controller:
        yield controller


def policy_of(
    record: Record | None,
    *,
    schema: type[CompressedCognitiveState] | None = None,
    max_tokens: int | None = None,
    style: str | None = None,
) -> Policy:
    """The policy that ``record`` was made under, with what is given in place of it.

    Raises:
        ConfigurationError: Its schema or counter is not known here, or a bound nothing could meet.
    """
    made = record["policy"] if record else {}
    if (counter := made.get("counter", utf8_quarter.name)) != utf8_quarter.name:
        raise ConfigurationError(
            f"the thread counts tokens by {counter!r}, which this command does not know",
            where=f"policy {made['fingerprint']}",
            mend="use the library with that counter in its Policy",
        )
    if schema is None:
        schema = _recorded_schema(made["schema"]) if made else CompressedCognitiveState
    return Policy(
        schema=schema,
        max_tokens=max_tokens or made.get("max_tokens", 0),
        style=cast(Style, style or made.get("style", "toon")),
    )


def schema_named(name: str) -> type[CompressedCognitiveState]:
    """The state class that ``module:Class`` names.

    Raises:
        ConfigurationError: It cannot be imported, or is no state class.
    """
    module, _, path = name.partition(":")
    try:
        found: object = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs whatever stands in the module
        raise ConfigurationError(
            f"the schema cannot be imported: {type(error).__name__}: {error}",
            where=name,
            mend="write --schema module:Class, with the module on PYTHONPATH",
        ) from error
    if isinstance(found, type) and issubclass(found, CompressedCognitiveState):
        return found
    raise ConfigurationError(
        "no state class", where=name, mend="name a subclass of CompressedCognitiveState"
    )


def _recorded_schema(name: str) -> type[CompressedCognitiveState]:
    if name.partition(":")[0].partition(".")[0] not in OURS:
        raise ConfigurationError(
            "the thread has a schema of its own", where=name, mend=f"give --schema {name}"
        )
    return schema_named(name)
