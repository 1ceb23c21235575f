"""Opens the store of a memory, with the policy of a thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Self, cast

from acc.cli.logged import Record
from acc.cli.options import Server, audit_place
from acc.compress.protocol import Compressor, Price
from acc.controller import MemoryController, resumed
from acc.errors import ConfigurationError, InputError
from acc.evidence.upkeep import pending
from acc.pipeline.session import Settings
from acc.schema.catalog import Schema, published, schema_named
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Lifting, Policy
from acc.state.proposal import Mode
from acc.state.render import Style
from acc.text.tokens import utf8_quarter

FIX_LOGS = (
    "restore a backup of the whole folder; or, in Python, commit stored turns again with "
    "memory.recover(thread), or go on with memory.adopt(state, thread=thread)"
)
"""What to do where the audit logs and the store differ."""

OWN_PACKAGES = ("acc", "acc_schemas")
"""Packages with schemas that a record may name, in addition to published schemas.

A record is untrusted data, and importing a module runs code.
"""


def policy_of(
    record: Record | None,
    *,
    schema: Schema | None = None,
    max_tokens: int | None = None,
    style: Style | None = None,
) -> Policy:
    """The policy of ``record``, with the given values instead of its own.

    Raises:
        ConfigurationError: The command does not know the record's schema or token counter, or a
            limit is too small.
    """
    made = record["policy"] if record else {}
    if (counter := made.get("counter", utf8_quarter.name)) != utf8_quarter.name:
        raise ConfigurationError(
            f"the thread counts tokens by {counter!r}, which this command does not know",
            where=f"policy {made['fingerprint']}",
            hint="use the Python library with that counter in its Policy",
        )
    if schema is None:
        schema = _recorded_schema(made["schema"]) if made else CompressedCognitiveState
    return Policy(
        schema=schema,
        max_tokens=max_tokens or made.get("max_tokens", 0),
        style=style or cast(Style, made.get("style", "toon")),
        lifting=cast(Lifting, made.get("lifting", "confirm")),
    )


class Policies:
    """The policies that may have made the commits of records, by fingerprint.

    Attributes:
        exact: Those with the fingerprint.
        stand_ins: For other fingerprints, the policy with another form of the same schema.
    """

    def __init__(self) -> None:
        self.exact: dict[str, Policy] = {}
        self.stand_ins: dict[str, Policy] = {}

    def find(self, record: Record, schemas: Sequence[Schema], max_tokens: int | None) -> None:
        """Find the policy of a record: by the given schemas, or by the schema that the record names.

        Raises:
            ConfigurationError: The command does not know the record's schema or token counter.
        """
        made = record["policy"]
        fingerprint = made["fingerprint"]
        if fingerprint in self.exact or fingerprint in self.stand_ins:
            return
        found = [policy_of(record, schema=schema, max_tokens=max_tokens) for schema in schemas]
        same_name = [p for p in found if p.schema.__qualname__ == made["schema"].partition(":")[2]]
        if all(policy.fingerprint != fingerprint for policy in found):
            try:
                found.append(policy_of(record, max_tokens=max_tokens))
            except ConfigurationError:
                if not same_name:
                    raise
        self.exact |= {policy.fingerprint: policy for policy in found}
        if fingerprint not in self.exact and max_tokens is None:
            self.stand_ins[fingerprint] = (same_name or found)[-1]


def _recorded_schema(name: str) -> Schema:
    is_own = name.partition(":")[0].partition(".")[0] in OWN_PACKAGES
    # The published ones are found in the metadata of all installed packages, which takes a while.
    value = name.partition("[")[0]  # a role's projection: module:Class[role]
    if not is_own and value not in (entry.value for entry in published().values()):
        raise ConfigurationError(
            "the thread uses a schema that is not installed", where=name,
            hint=f"give --schema {name}",
        )  # fmt: skip
    return schema_named(name)


def compressor_named(model: str, mode: Mode | None, price: Price | None) -> Compressor | None:
    """The compressor that asks the model; None for the keyless rules.

    Raises:
        ConfigurationError: The model cannot be used, or an option needs one.
    """
    if model:
        from acc.compress.model import as_compressor

        return as_compressor(model, mode=mode or "revise", price=price)
    for option, given in (("--mode", mode), ("--price", price)):
        if given is not None:
            raise ConfigurationError(
                "this option needs a model", where=option, hint="name the model with --model"
            )
    return None


def state_key() -> list[str] | None:
    """The keys that sign states, from ACC_STATE_KEY: one key or several, separated by commas."""
    keys = [key for key in os.environ.get("ACC_STATE_KEY", "").split(",") if key]
    return keys or None


@contextmanager
def opened(
    memory: Path,
    policy: Policy,
    *,
    server: Server | None = None,
    compressor: Compressor | None = None,
    repair: bool = True,
) -> Iterator[MemoryController]:
    """Open the memory in a folder; with a server, the folder holds only the audit logs.

    With ``repair`` it finishes what a killed process left; otherwise opening changes nothing.
    """
    if server is None and repair:
        controller = MemoryController.open(
            memory, compressor=compressor, policy=policy, state_key=state_key(),
            audit=audit_place(memory),
        )  # fmt: skip
    else:
        from acc.stores.chroma.store import ChromaArtifactStore

        if server is None:
            store = ChromaArtifactStore.embedded(memory, looks=True)
        else:
            store = ChromaArtifactStore.server(*server)
        controller = MemoryController(
            store,
            compressor,
            Settings(policy=policy, audit=audit_place(memory), state_key=state_key()),
        )
    with controller:
        if server is not None and repair:
            controller.resumed = resumed(controller)
        yield controller


@contextmanager
def opened_store(
    memory: Path, server: Server | None, *, create: bool = False, read_only: bool = False
) -> Iterator[MemoryController]:
    """Open the memory in a folder to maintain its evidence.

    Finishes work that a killed process left, and reports it on stderr; with ``read_only`` it refuses a memory
    with such work instead. With ``create`` the folder is created if it is absent.

    Raises:
        InputError: There is no memory and ``create`` is False, or the memory has unfinished work.
    """
    if not create:
        check_memory(memory, server)
    with opened(memory, Policy(), server=server, repair=not read_only) as controller:
        if read_only and (unfinished := pending(controller)):
            raise InputError(
                f"earlier work was interrupted: {'; '.join(unfinished)}",
                where=str(memory),
                hint="finish it with acc doctor --repair, then run this command again",
            )
        for finished in controller.resumed:
            print(f"acc: {finished}", file=sys.stderr)
        yield controller


def check_memory(memory: Path, server: Server | None) -> None:
    """Check that the folder holds a memory. Opening any other folder would create a store in it.

    Raises:
        InputError: The folder holds no memory.
    """
    if server is not None and (memory.is_dir() or not memory.exists()):
        return
    what, hint = "no memory in this folder", "name the memory's folder with --memory"
    if memory.exists() and not memory.is_dir():
        what = "this is a file, not the folder of a memory"
    elif (memory / "chroma.sqlite3").is_file():
        return
    elif (memory / "audit").is_dir():
        what = "this folder holds only audit logs"
        hint = "name the Chroma server that holds the records with --server HOST:PORT"
    raise InputError(what, where=str(memory), hint=hint)


class Interrupts:
    """Defers the first signal until `check`. A second signal takes effect at once."""

    def __init__(self) -> None:
        self._received = 0
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Raise the exception of the deferred signal, if there was one.

        Raises:
            KeyboardInterrupt: The user pressed Ctrl-C.
            SystemExit: The process received SIGTERM.
        """
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt
        if self._received:
            raise SystemExit(128 + self._received)

    def _receive(self, number: int, _: FrameType | None) -> None:
        again = bool(self._received)
        self._received = number
        if again:
            self.check()

    def __enter__(self) -> Self:
        # Only the main thread can handle signals.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
