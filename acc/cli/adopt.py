"""``acc adopt``: go on from the states in checkpoints that a restored memory does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import typer

from acc.audit.namespaces import existing_log, known_spaces
from acc.cli import options
from acc.cli.opening import opened_store, policy_of
from acc.cli.output import Consent, DryRunOption, Summary, YesOption, carry_out, count
from acc.controller import MemoryController
from acc.errors import InputError, StateError
from acc.integrations.checkpointed import Checkpointed, newest_states
from acc.recovery import refusal
from acc.schema.catalog import Schema
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import UNNAMED, Thread, managed


class _Due(NamedTuple):
    """A state that a step refuses until it is adopted, with the memory that reads its schema."""

    thread: Thread
    memory: MemoryController
    state: CompressedCognitiveState
    why: str


def adopt(
    checkpointer: Annotated[
        str,
        typer.Option(
            metavar="URL", help="The database of the checkpoints: sqlite:PATH or postgresql://..."
        ),
    ],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: Annotated[
        str, typer.Option("--thread", metavar="NAME", help="The thread, as the graph names it.")
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every thread that the memory knows.")
    ] = False,
    user: options.UserOption = UNNAMED,
    agent: options.AgentOption = UNNAMED,
    tenant: options.TenantOption = UNNAMED,
    state_key: Annotated[
        str, typer.Option(metavar="NAME", help="The graph's channel of the state.")
    ] = "ccs",
    schema: options.SchemaOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    server: options.ServerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Go on from checkpoints newer than the restored memory.

    The items of a state stay, also its rules. Evidence that the memory lacks stays lost. Prints the plan and
    asks. States that the memory knows are left alone.
    """
    if bool(thread) == everything:
        raise InputError(
            "name one thread or all of them", where="acc adopt", hint="give --thread NAME or --all"
        )
    consent = Consent(dry_run, yes, json)
    with opened_store(memory, server, read_only=dry_run) as controller:
        known = known_spaces(managed(controller.artifacts), controller.settings.audit, tenant)
        threads = [each for found in known.values() for each in found]
        if thread:
            named = Thread(thread=thread, user=user, agent=agent, tenant=tenant)
            threads = [named, *(each for each in threads if each.thread == thread)]
        names = sorted({each.thread for each in threads})
        owners = {each.owner_key: each for each in threads}
        left = list(newest_states(checkpointer, names, state_key))
        due = list(_due(controller, left, owners, schema))
        foreign = [each.conversation for each in left if each.state.get("bound_to") not in owners]

        def act() -> Summary:
            for each in due:
                each.memory.adopt(each.state, thread=each.thread)
            return _summary(due, len(left), foreign, done=True)

        plan = _summary(due, len(left), foreign, done=False)
        carry_out(consent if due else consent._replace(dry_run=True), plan, act)


def _due(
    memory: MemoryController,
    left: Sequence[Checkpointed],
    owners: dict[str, Thread],
    schema: Schema | None,
) -> Iterator[_Due]:
    """Yield the states that a step would refuse.

    Raises:
        StateError: A state was edited, or has another schema.
    """
    for each in left:
        owner = owners.get(str(each.state.get("bound_to")))
        if owner is None:
            continue
        log = existing_log(memory.settings.audit, owner)
        policy = policy_of(log.last() if log else None, schema=schema)
        reader = MemoryController(
            memory.artifacts, settings=replace(memory.settings, policy=policy)
        )
        try:
            state = reader.load(each.state)
        except StateError as error:
            raise StateError(
                error.what, where=f"the checkpoint of {each.conversation!r}", hint=error.hint
            ) from error
        if why := refusal(reader, state, owner):
            yield _Due(owner, reader, state, why)


def _summary(due: Sequence[_Due], looked_at: int, foreign: Sequence[str], *, done: bool) -> Summary:
    verb = "adopted" if done else "to adopt"
    lines = [
        f"{verb}: thread {each.thread.thread!r} of user {each.thread.user!r}, the checkpoint's state after "
        f"turn {each.state.turn:,}" + ("" if done else f"; a step refuses it now: {each.why}")
        for each in due
    ]
    lines += [
        f"left alone: the checkpoint of {name!r} has a state of another tenant, user or agent: name it with "
        "--thread and --user" for name in foreign
    ]  # fmt: skip
    lines.append(
        f"{count(looked_at, 'checkpoint')} with a state looked at; {len(due)} {verb}"
        + ("; what the memory lacks of their turns stays lost" if due else "")
    )
    value: list[dict[str, Any]] = [
        {**each.thread.model_dump(), "turn": each.state.turn, "hash": each.state.hash, "why": each.why,
         "adopted": done}
        for each in due
    ]  # fmt: skip
    return Summary(lines, {"adopted" if done else "to_adopt": value, "left_alone": list(foreign)})
