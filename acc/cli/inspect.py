"""``acc inspect``: a local page over the threads of a memory, and the operator's acts behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from acc.audit.log import AuditLog
from acc.cli import options
from acc.cli.delete import held_after, plan_summary, receipt_summary, retire_items
from acc.cli.logged import LoggedThread, logs_of
from acc.cli.opening import opened_store, policy_of
from acc.controller import MemoryController
from acc.errors import InputError
from acc.evidence.erasure import Erasure, refuse_unproved
from acc.evidence.erasure_plan import ErasurePlan, Target
from acc.inspector.acts import Plan
from acc.inspector.detail import Reader, Reading
from acc.inspector.logs import Logs
from acc.inspector.summary import Record, words_of
from acc.operators import LONGEST_REASON
from acc.schema.catalog import Schema
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.turn.observations import is_ingested


def inspect(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes any free one.")
    ] = 8766,
    operator: Annotated[
        bool,
        typer.Option(
            "--operator",
            help="Offer retire, hold and erase on the page, to who has the token that is printed.",
        ),
    ] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.05, help="Look for new turns this often.")
    ] = 1.0,
    server: options.ServerOption = None,
    schema: options.SchemaOption = None,
) -> None:
    """Serve a local page over the threads of a memory.

    It follows a running agent: it reads the audit logs alone. Only this machine reaches it.
    """
    from acc.inspector.server import Inspector, application, bound, new_token
    from acc.inspector.server import server as server_of

    if not (memory / "chroma.sqlite3").exists():  # a memory may be without a first commit
        logs_of(memory)  # refuses a folder without a memory
    inspector = Inspector(
        Logs(options.audit_place(memory)), reader_of(schema), partial(asyncio.sleep, interval),
        OperatorActs(memory, server, schema) if operator else None, new_token() if operator else "",
    )  # fmt: skip
    app = application(inspector)
    with bound(port) as socket, suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{socket.getsockname()[1]}/", flush=True)
        if operator:
            print(f"operator's token: {inspector.token}", flush=True)
        print("Every account of this machine can read the page. Ctrl-C ends it.", flush=True)
        server_of(app).run(sockets=[socket])


def reader_of(schema: Schema | None) -> Reader:
    """Return what loads the state of a record: under its own schema, or the given one."""
    policies: dict[str, Policy] = {}

    def read(record: Record) -> Reading:
        made = record["policy"]["fingerprint"]
        if made not in policies:
            policies[made] = policy_of(record, schema=schema)
        policy = policies[made]
        pinned = [name for name, slot in policy.schema.slots().items() if slot.rules.pinned]
        state = policy.schema.load(record["state"])
        words = {item.id: item.words for _, item in state.items()}
        return Reading(policy.rendered(state), pinned, words)

    return read


@dataclass(frozen=True)
class OperatorActs:
    """The acts of ``acc retire``, ``hold`` and ``erase``, planned and then done; an `acc.inspector.acts.Acts`.

    Each opens the store, which is free only while no other process uses an embedded one, and closes it.
    """

    memory: Path
    server: options.Server | None
    schema: Schema | None

    def retire(self, thread: Thread, ids: Sequence[str], reason: str) -> Plan:
        """Plan the retirement of items of the newest state."""
        logged = LoggedThread(thread, AuditLog.of(options.audit_place(self.memory), thread))
        there = dict(_items_of(logged.last["state"]))
        if unknown := [each for each in ids if each not in there] or (not ids and ["none"]):
            raise InputError(
                f"no item {', '.join(unknown)} in the newest state", where=f"thread {thread.thread!r}",
                hint="choose items of the newest turn",
            )  # fmt: skip
        if len(reason) > LONGEST_REASON:
            raise InputError(
                "the reason is too long", hint=f"give one of at most {LONGEST_REASON} characters"
            )
        with self._opened():
            pass  # the act would fail later: another process holds the store
        lines = [f"retire {each}: {there[each]}" for each in ids]
        lines.append(f"the agent reads the reason in its next turn: {reason or '(none)'}")
        act = partial(retire_items, logged, self.memory, ids, reason, self.server, self.schema)
        return Plan(lines, lambda: act().lines)

    def hold(self, thread: Thread, ref: str, reason: str, *, release: bool) -> Plan:
        """Plan a hold on evidence or on the thread, or its release."""
        owner = _owner(thread, ref)
        what = f"{ref or 'the whole thread'} of {owner.thread or 'the shared documents'!r}"
        with self._opened():
            pass

        def act() -> list[str]:
            with self._opened(write=True) as controller:
                held = held_after(controller, owner, ref, reason, release_=release)
            return [f"{key.partition(':')[2] or '(all)'}: {why}" for key, why in held.items()] or [
                "no holds"
            ]

        verb = "release the hold on" if release else "protect from deletion:"
        return Plan([f"{verb} {what}", *([] if release else [f"reason: {reason}"])], act)

    def erase(self, thread: Thread, what: str, ref: str) -> Plan:
        """Plan an erasure of the evidence ``ref``, the thread or its user."""
        target = _target(thread, what, ref)
        with self._opened() as controller:
            plan = Erasure(controller).plan(target)
        lines = plan_summary(plan, (), with_text=True).lines
        return Plan(lines, partial(self._erase, plan))

    def _erase(self, plan: ErasurePlan) -> list[str]:
        with self._opened(write=True) as controller:
            # It refuses if the memory has changed since the plan was shown.
            receipt = Erasure(controller).erase(plan)
        refuse_unproved(receipt)
        return receipt_summary(receipt, plan).lines

    def _opened(self, *, write: bool = False) -> AbstractContextManager[MemoryController]:
        return opened_store(self.memory, self.server, read_only=not write)


def _owner(thread: Thread, ref: str) -> Thread:
    """Return whose a piece of evidence is: a document is its namespace's."""
    return thread.model_copy(update={"thread": ""}) if is_ingested(ref) else thread


def _target(thread: Thread, what: str, ref: str) -> Target:
    whose: dict[str, Any] = {"user": thread.user, "tenant": thread.tenant}
    match what:
        case "evidence":
            owner = _owner(thread, ref)
            return Target(**whose, thread=owner.thread or None, artifact=ref, agent=thread.agent)
        case "thread":
            return Target(**whose, thread=thread.thread, agent=thread.agent)
        case "user":
            return Target(**whose)
    raise InputError("nothing of that kind can be erased", hint="what is evidence, thread or user")


def _items_of(state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for entries in state.values():
        for each in entries if isinstance(entries, list) else ():
            if isinstance(each, Mapping) and each.get("id") and "sources" in each:
                yield str(each["id"]), words_of(each)
