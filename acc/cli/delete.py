"""The operator's acts: ``acc retire`` and ``erase``, and ``hold``, which protects evidence from deletion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from acc.cli import options
from acc.cli.logged import LoggedThread, logged_thread
from acc.cli.opening import Interrupts, opened, opened_store, policy_of
from acc.cli.output import (
    Consent,
    DryRunOption,
    Summary,
    YesOption,
    carry_out,
    count,
    print_json,
    print_table,
)
from acc.errors import InputError, StoreError
from acc.evidence.checkpoints import Settled, rows_at, without_password
from acc.evidence.erasure import Erasure, Receipt, refuse_unproved
from acc.evidence.erasure_plan import Effects, ErasurePlan, Target
from acc.evidence.references import hold as put_hold
from acc.evidence.references import release
from acc.evidence.usage import holds
from acc.memory import Memory
from acc.schema.catalog import Schema
from acc.stores.directory import enrolled, namespace, namespace_of
from acc.stores.protocol import UNNAMED, Thread
from acc.stores.shelf import Shelf


def retire(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Items, such as c3. See acc show.")
    ],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why. The agent reads this in its next turn.")
    ] = "",
    server: options.ServerOption = None,
    schema: options.SchemaOption = None,
    json: options.JsonOption = False,
) -> None:
    """Remove rules, goals or other items from the state.

    The evidence stays in the memory, and the audit log records what was retired and why.
    """
    with Interrupts():
        done = retire_items(logged_thread(memory, thread), memory, ids, reason, server, schema)
    done.print(as_json=json)


def retire_items(
    logged: LoggedThread,
    memory: Path,
    ids: Sequence[str],
    reason: str,
    server: options.Server | None,
    schema: Schema | None,
) -> Summary:
    """Retire items of a thread; return what was done."""
    policy = policy_of(logged.last, schema=schema)
    with opened(memory, policy, server=server) as controller:
        step = controller.retire(ids, reason, thread=logged.thread)
    retired = {e.item.id: e.item.words for e in step.commit.set_aside if e.item.id in ids}
    limit = f"{step.commit.tokens:,} of at most {policy.max_tokens:,} tokens"
    lines = [f"retired {item_id}: {words}" for item_id, words in retired.items()]
    lines.append(f"thread {logged.thread.thread!r}, after turn {step.state.turn:,}: {limit}")
    return Summary(lines, {
        "thread": logged.thread.model_dump(), "turn": step.state.turn, "tokens": step.commit.tokens,
        "retired": [{"id": item_id, "said": words} for item_id, words in retired.items()],
    })  # fmt: skip


def hold(
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="The evidence. [default: the whole thread]")
    ] = "",
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: Annotated[
        str,
        typer.Option(metavar="NAME", help="The thread of the evidence. Omit it for a document."),
    ] = "",
    user: options.UserOption = UNNAMED,
    agent: options.AgentOption = UNNAMED,
    tenant: options.TenantOption = UNNAMED,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Who asks for the hold, and why. Required.")
    ] = "",
    release_: Annotated[
        bool, typer.Option("--release", help="Release the hold instead of setting it.")
    ] = False,
    server: options.ServerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Protect evidence from deletion, or list what is protected.

    Without REF and --thread, this lists the holds.
    """
    if release_ and not (ref or thread):
        raise InputError(
            "nothing is named to release", where="--release", hint="name REF or --thread"
        )
    space = namespace(user, agent, tenant)
    owner = space.model_copy(update={"thread": thread})
    with opened_store(memory, server) as controller:
        held = held_after(controller, owner, ref, reason, release_=release_)
        names = {each.key: each.thread for each in enrolled(controller.artifacts, space)}
    if json:
        print_json(held)
    elif held:
        rows = []
        for key, why in sorted(held.items()):
            thread_key, _, held_ref = key.partition(":")
            rows.append((names.get(thread_key, ""), held_ref or "(all)", why))
        print_table(("thread", "ref", "reason"), rows, wrap=("reason",))
    else:
        print("no holds")


def held_after(
    memory: Memory, owner: Thread, ref: str, reason: str, *, release_: bool
) -> dict[str, str]:
    """Set or release a hold on evidence of ``owner``, if any is named; return the reasons of all holds."""
    usage = Shelf(memory.artifacts, namespace_of(owner), "usage")
    if release_:
        release(usage, owner, ref, memory._now())
    elif ref or owner.thread:
        put_hold(usage, owner, ref, reason, memory._now())
    return holds(usage.records()).reasons


_KINDS = {
    "observation": "raw turns", "set_aside": "items that left a state", "document": "documents",
    "experience": "experiences", "thread": "directory entries", "claim": "claims of turns",
    "branch": "branches", "tombstone": "tombstones", "act": "operators' acts",
    "usage": "records of use", "successor": "successors of turns", "refusal": "refusals of turns",
}  # fmt: skip


def erase(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Erase everything of this user; with --thread, its owner."
        ),
    ] = None,
    thread: Annotated[str | None, typer.Option(metavar="NAME", help="Erase this thread.")] = None,
    artifact: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Erase this piece of evidence of --thread; without --thread, this document.",
        ),
    ] = None,
    agent: options.AgentOption = UNNAMED,
    tenant: options.TenantOption = UNNAMED,
    keep_echoes: Annotated[
        bool,
        typer.Option("--keep-echoes", help="Keep other evidence that repeats the erased words."),
    ] = False,
    despite_hold: Annotated[
        bool, typer.Option("--despite-hold", help="Erase evidence that acc hold protects, too.")
    ] = False,
    checkpointer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Also delete the threads' LangGraph checkpoints in this database: sqlite:PATH or "
            "postgresql://... Repeatable. Without a target, delete the checkpoints that earlier "
            "erasures could not delete.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    server: options.ServerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Erase a user, a thread or one piece of evidence.

    Prints the plan and asks before it erases. Then it searches all files for what was erased.
    """
    consent = Consent(dry_run, yes, json)
    urls = checkpointer or []
    if urls and (user, thread, artifact) == (None, None, None):
        _settle(memory, urls, server, consent)
        return
    target = Target(user, thread, artifact, agent, tenant)
    with opened_store(memory, server, read_only=dry_run) as controller:
        eraser = Erasure(controller)
        plan = eraser.plan(target, echoes=not keep_echoes, despite_holds=despite_hold)
        receipts: list[Receipt] = []

        def act() -> Summary:
            receipts.append(eraser.erase(plan, urls))
            return receipt_summary(receipts[0], plan)

        carry_out(consent, plan_summary(plan, urls, with_text=consent.shows_text), act)
    for receipt in receipts:
        refuse_unproved(receipt)


def _settle(
    memory: Path, checkpointers: Sequence[str], server: options.Server | None, consent: Consent
) -> None:
    """Delete the checkpoints that earlier erasures could not delete."""
    with opened_store(memory, server, read_only=consent.dry_run) as controller:
        eraser = Erasure(controller)
        waiting = eraser.waiting()
        if not waiting:
            raise InputError(
                "no erasure waits for a checkpointer",
                where=str(memory),
                hint="name what to erase with --user, --thread or --artifact",
            )
        done: list[tuple[str, Settled]] = []

        def act() -> Summary:
            done.extend(eraser.settle(checkpointers))
            return Summary(
                [f"erasure {id_}: {s.rows} rows of checkpoints deleted" for id_, s in done],
                [{"id": id_, "checkpoints": s.rows, "left": s.left} for id_, s in done],
            )

        plan = Summary(
            [f"erasure {due.erasure}: checkpoints of {', '.join(due.threads)} in {', '.join(due.urls)}"
             for due in waiting],
            [due._asdict() for due in waiting],
        )  # fmt: skip
        # The user confirmed this with the erasure, and every opening of the memory retries it.
        carry_out(consent._replace(yes=True), plan, act)
    if left := [why for _, settled in done for why in settled.left]:
        raise StoreError("; ".join(left), where="checkpoints of earlier erasures")


def plan_summary(plan: ErasurePlan, checkpointers: Sequence[str], *, with_text: bool) -> Summary:
    target = plan.target
    owner = f"tenant {target.tenant!r}, user {target.whose!r}"
    if target.kind != "user":
        owner += f", agent {target.agent!r}"
    effects = plan.effects if with_text else plan.effects.without_words()
    lines = [
        f"to erase: the {target.kind} {target.name!r} ({owner})", *_effect_lines(plan, effects)
    ]  # fmt: skip
    rows, unknown = 0, []
    for url in checkpointers:
        try:
            rows += rows_at(url, plan.conversations)
        except StoreError as error:
            unknown.append(f"{without_password(url)}: {error.what}")
    if checkpointers:
        counted = "; ".join([f"{rows} rows of checkpoints", *unknown])
        lines.append(f"  checkpoints of {', '.join(plan.conversations) or 'no thread'}: {counted}")
    lines.append("  the store's files are rewritten, then searched for what was erased")
    value = {**_effects_json(plan, effects), "checkpoints": rows, "unknown": unknown}
    return Summary(lines, value)


def receipt_summary(receipt: Receipt, plan: ErasurePlan) -> Summary:
    found = f"{len(receipt.traces)} traces" if receipt.traces else "no trace"
    lines = [f"erasure {receipt.id} is done:", *_effect_lines(plan, receipt.effects)]
    lines += [f"  {log.log} ends with state {log.head}" for log in receipt.rewritten]
    if receipt.checkpoints:
        lines.append(f"  {receipt.checkpoints} rows of checkpoints deleted")
    if receipt.foreign:
        lines.append(
            "the server's files were not searched: stop the server, and run acc vacuum on its folder"
        )
    lines.append(f"{found} left in {receipt.files} files")
    return Summary(lines, {
        **_effects_json(plan, receipt.effects), "id": receipt.id,
        "checkpoints": receipt.checkpoints, "unknown": list(receipt.left), "files": receipt.files,
        "traces": len(receipt.traces), "proved": receipt.proved,
    })  # fmt: skip


def _effect_lines(plan: ErasurePlan, effects: Effects) -> Iterator[str]:
    kinds = ", ".join(f"{_KINDS.get(kind, kind)}: {number}" for kind, number in effects.kinds)
    yield f"  records of evidence: {plan.records}" + (f" ({kinds})" if kinds else "")
    if plan.echoes:
        yield f"  of these, records that repeat the erased words: {', '.join(plan.echoes)}"
    if effects.digests:
        yield f"  claims and refusal notes of turns that lose the digest of the message: {effects.digests}"
    for gone in effects.dropped:
        yield f"  audit log {gone.log} (thread {gone.thread!r}): deleted, {count(gone.records, 'record')}"
    for log in effects.rewritten:
        yield (
            f"  audit log {log.log} (thread {log.thread!r}): "
            f"{log.records} of {log.of} records redacted"
        )
        for item in log.leaving:
            words = f": {item.words}" if item.words else ""
            yield f"    removed from the state: {item.id} of {item.slot}{words}"
    yield f"  threads affected: {', '.join(effects.threads) or 'none'}"


def _effects_json(plan: ErasurePlan, effects: Effects) -> dict[str, Any]:
    return {
        "target": plan.target.kind, "name": plan.target.name,
        "records": plan.records, "kinds": dict(effects.kinds), "digests": effects.digests,
        "echoes": list(plan.echoes), "threads": list(effects.threads),
        "conversations": list(plan.conversations),
        "audit_logs": len(effects.dropped), "dropped": [log._asdict() for log in effects.dropped],
        "rewritten": [
            {"log": log.where, "thread": log.thread, "records": log.records, "of": log.of,
             "items": list(log.items), "head": log.head,
             "leaving": [item._asdict() for item in log.leaving]}
            for log in effects.rewritten
        ],
    }  # fmt: skip
