"""The commands that delete: ``acc retire``, ``prune`` and ``erase``; and ``hold``, which protects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

import typer

from acc.audit.namespaces import known_spaces
from acc.audit.redaction import Leaving
from acc.cli.opening import (
    IN_THE_PROCESS,
    Interrupts,
    LoggedThread,
    logged_thread,
    opened,
    opened_store,
    policy_of,
)
from acc.cli.options import (
    DEFAULT_MEMORY,
    AgentOption,
    JsonOption,
    MemoryOption,
    SchemaOption,
    Server,
    ServerOption,
    TenantOption,
    ThreadOption,
    UserOption,
)
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
from acc.evidence.deletion import Capacity, Deletion, preset
from acc.evidence.erasure import Erasure, Receipt, refuse_unproved
from acc.evidence.erasure_plan import Effects, ErasurePlan, Target
from acc.evidence.references import hold as put_hold
from acc.evidence.references import located, release
from acc.evidence.retention import DEFAULT_KINDS, Plan, PrunedKind, Retention
from acc.evidence.usage import holds
from acc.memory import Memory
from acc.schema.catalog import Schema
from acc.stores.directory import enrolled, namespace, namespace_of
from acc.stores.protocol import UNNAMED, Thread, managed
from acc.stores.shelf import Shelf


def retire(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Items, such as c3. See acc show.")
    ],
    memory: MemoryOption = DEFAULT_MEMORY,
    thread: ThreadOption = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why. The agent reads this in its next turn.")
    ] = "",
    server: ServerOption = None,
    schema: SchemaOption = None,
    json: JsonOption = False,
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
    server: Server | None,
    schema: Schema | None,
) -> Summary:
    """Retire items of a thread; return what was done."""
    policy = policy_of(logged.last, schema=schema)
    with opened(memory, policy, server=server, instead=IN_THE_PROCESS) as controller:
        step = controller.retire(ids, reason, thread=logged.thread)
    retired = {e.item.id: e.item.words for e in step.commit.set_aside if e.item.id in ids}
    limit = f"{step.commit.tokens:,} of at most {policy.max_tokens:,} tokens"
    lines = [f"retired {item_id}: {words}" for item_id, words in retired.items()]
    lines.append(f"thread {logged.thread.thread!r}, after turn {step.state.turn:,}: {limit}")
    return Summary(lines, {
        "thread": logged.thread.model_dump(), "turn": step.state.turn, "tokens": step.commit.tokens,
        "retired": [{"id": item_id, "said": words} for item_id, words in retired.items()],
    })  # fmt: skip


PolicyName = Literal["period", "history", "combined", "intersection"]

_NO_POLICY = (
    "choose one: --policy period (rarely read lately: --period, --alpha), history (not useful: "
    "--n, --beta), combined (either) or intersection (both); or limit the number with --capacity. "
    "--dry-run shows what would be deleted"
)


class _Numbers(NamedTuple):
    """Numbers that replace those of a preset; None keeps the preset's number."""

    period: int | None
    alpha: int | None
    n: int | None
    beta: float | None


class _Chosen(NamedTuple):
    """A policy, and a description of what it deletes."""

    policy: Deletion
    description: str


def prune(
    memory: MemoryOption = DEFAULT_MEMORY,
    user: UserOption = UNNAMED,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
    policy: Annotated[
        PolicyName | None,
        typer.Option(
            help="What to delete: evidence rarely read lately (period), evidence that was read "
            "often and was not useful (history), either (combined), or only what is both "
            "(intersection). Required unless --capacity is given."
        ),
    ] = None,
    like: Annotated[
        str,
        typer.Option(
            metavar="AGENT",
            help="Take the numbers that are not given from this agent of the paper: ehragent, "
            "cic-iot, or agentdriver (whose utilities are negative errors in metres).",
        ),
    ] = "ehragent",
    period: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="period: look at the last N commits.")
    ] = None,
    alpha: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="period: delete if read at most N times.")
    ] = None,
    n: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="history: judge if read over N times.")
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(metavar="X", help="history: delete if the mean utility is at most X."),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Keep at most N of what remains: delete the least useful."
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="What to judge: observation (raw turns), set_aside (items that left a state), "
            "document, experience or quarantine. Repeatable. [default: document, experience]",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> None:
    """Delete evidence that is rarely read or not useful.

    Prints the plan and asks before it deletes. Evidence that a state cites, or that acc hold
    protects, stays.
    """
    chosen = _choose(policy, like, _Numbers(period, alpha, n, beta), capacity)
    kinds = cast(Sequence[PrunedKind], kind) or DEFAULT_KINDS
    consent = Consent(dry_run, yes, json)
    with opened_store(memory, server, read_only=dry_run) as controller:
        keeper = Retention(controller)
        plan = keeper.plan(namespace(user, agent, tenant), chosen.policy, kinds)

        def act() -> Summary:
            deleted = keeper.prune(plan)
            line = f"deleted {count(deleted, 'record')} of evidence"
            if kept := len(plan.ids) - deleted:
                line += f"; kept {kept} that are now needed"
            return Summary([line], _prune_json(plan, chosen.description, deleted))

        head = f"policy: delete {chosen.description}; of {', '.join(kinds)}"
        summary = Summary([head, *_prune_lines(plan)], _prune_json(plan, chosen.description, 0))
        carry_out(consent if plan.ids else consent._replace(dry_run=True), summary, act)


def _choose(
    name: PolicyName | None,
    like: str,
    numbers: _Numbers,
    capacity: int | None,
) -> _Chosen:
    """The policy of that name; the preset ``like`` supplies missing numbers.

    Raises:
        InputError: Neither a policy nor a capacity is named. A default must not delete evidence.
        ConfigurationError: There is no such preset.
    """
    if name is None and capacity is None:
        raise InputError("no policy is named", where="acc prune", hint=_NO_POLICY)
    found = preset(like)
    period = replace(
        found.period,
        **_given(period=numbers.period, alpha=numbers.alpha),
    )
    history = replace(found.history["strict"], **_given(n=numbers.n, beta=numbers.beta))
    policy = found._replace(period=period, history={"strict": history, "coarse": history}).deletion(
        name or "none"
    )
    rarely = f"what was read at most {period.alpha} times in the last {period.period} commits"
    useless = (
        f"what was read over {history.n} times with a mean utility of at most {history.beta:g}"
    )
    descriptions = {
        None: "", "period": rarely, "history": useless, "combined": f"{rarely}, or {useless}",
        "intersection": f"{rarely}, and {useless}",
    }  # fmt: skip
    description = descriptions[name]
    if name and None in numbers:
        description += f" (numbers that were not given are those of {like})"
    if capacity is not None:
        policy = policy.then(Capacity(capacity))
        beyond = f"the least useful beyond {capacity} of those that stay"
        description = f"{description}; then {beyond}" if description else beyond
    return _Chosen(policy, description)


def _given(**numbers: float | None) -> dict[str, Any]:
    return {name: value for name, value in numbers.items() if value is not None}


def _prune_json(plan: Plan, description: str, deleted: int) -> dict[str, Any]:
    return {
        "policy": description, "t": plan.t, "looked_at": plan.looked_at, "records": len(plan.ids),
        "deleted_records": deleted, "readings": plan.readings,
        "doomed": [asdict(d) for d in plan.doomed], "protected": [asdict(d) for d in plan.protected],
    }  # fmt: skip


def _prune_lines(plan: Plan) -> list[str]:
    lines = [f"  {verb}: {' '.join(filter(None, (d.kind, d.thread, d.ref)))}: {d.why}"
             for verb, found in (("delete", plan.doomed), ("keep", plan.protected))
             for d in found]  # fmt: skip
    readings = "".join(
        f"; the {name} would delete {number}" for name, number in plan.readings.items()
    )
    lines.append(
        f"to delete: {len(plan.doomed)} of {plan.looked_at}, with {count(len(plan.ids), 'record')}; "
        f"{len(plan.protected)} are kept although the policy would delete them{readings}"
    )
    return lines


def hold(
    ref: Annotated[
        str, typer.Argument(metavar="REF", help="The evidence. [default: the whole thread]")
    ] = "",
    memory: MemoryOption = DEFAULT_MEMORY,
    thread: Annotated[
        str,
        typer.Option(metavar="NAME", help="The thread of the evidence. Omit it for a document."),
    ] = "",
    user: UserOption = UNNAMED,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Who asks for the hold, and why. Required.")
    ] = "",
    release_: Annotated[
        bool, typer.Option("--release", help="Release the hold instead of setting it.")
    ] = False,
    server: ServerOption = None,
    json: JsonOption = False,
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
        given = {
            "thread": thread,
            **{n: v for n, v in (("user", user), ("agent", agent)) if v != UNNAMED},
        }
        if found := _located(controller, ref, tenant, given):
            owner, ref = found
            space = namespace_of(owner)
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
    memory: MemoryOption = DEFAULT_MEMORY,
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
            help="Erase this piece of evidence of --thread; without --thread, this document, or "
            "the evidence of a thread by the ref that acc search prints, such as a1e58a72/u5.",
        ),
    ] = None,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
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
    server: ServerOption = None,
    json: JsonOption = False,
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
        if artifact is not None:
            given = {"user": user, "thread": thread, "agent": agent if agent != UNNAMED else None}
            if found := _located(controller, artifact, tenant, given):
                who, ref = found
                target = Target(who.user, who.thread, ref, who.agent, tenant)
        plan = eraser.plan(target, echoes=not keep_echoes, despite_holds=despite_hold)
        receipts: list[Receipt] = []

        def act() -> Summary:
            receipts.append(eraser.erase(plan, urls))
            return receipt_summary(receipts[0], plan)

        carry_out(consent, plan_summary(plan, urls, with_text=consent.shows_text), act)
    for receipt in receipts:
        refuse_unproved(receipt)


def _located(
    memory: Memory, ref: str, tenant: str, given: Mapping[str, str | None]
) -> tuple[Thread, str] | None:
    """Return the thread and its own ref, if ``ref`` is one of a thread that ``acc search`` prints."""
    if "/" not in ref:
        return None
    known = known_spaces(managed(memory.artifacts), memory.settings.audit, tenant)
    return located(known, ref, {name: value for name, value in given.items() if value})


def _settle(
    memory: Path, checkpointers: Sequence[str], server: Server | None, consent: Consent
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
        lines += _going_on(plan)
    lines.append("  the store's files are rewritten, then searched for what was erased")
    value = {**_effects_json(plan, effects), "checkpoints": rows, "unknown": unknown}
    return Summary(lines, value)


def receipt_summary(receipt: Receipt, plan: ErasurePlan) -> Summary:
    found = f"{len(receipt.traces)} traces" if receipt.traces else "no trace"
    lines = [f"erasure {receipt.id} is done:", *_effect_lines(plan, receipt.effects)]
    lines += [f"  {log.log} ends with state {log.head}" for log in receipt.rewritten]
    if receipt.checkpoints:
        lines.append(f"  {receipt.checkpoints} rows of checkpoints deleted")
        lines += _going_on(plan)
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


def _going_on(plan: ErasurePlan) -> Iterator[str]:
    """Say from where the threads go on whose checkpoints are deleted, and that the memory keeps."""
    if kept := sorted({log.thread for log in plan.effects.rewritten}):
        yield (
            f"  without checkpoints, {', '.join(kept)} goes on from the memory's last state "
            "(MemoryNode and MemoryMiddleware; with resume=False it begins anew, without its rules)"
        )


def _effect_lines(plan: ErasurePlan, effects: Effects) -> Iterator[str]:
    binding = [
        f"{item.id} in thread {log.thread}"
        for log in effects.rewritten
        for item in log.leaving
        if item.slot in _BINDING
    ]
    if binding:
        yield f"  RULES and goals that bind no more: {len(binding)} ({', '.join(binding)})"
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
            yield f"    removed from the state: {item.id}{_kind_of(item)}{words}"
    yield f"  threads affected: {', '.join(effects.threads) or 'none'}"


_BINDING = {"constraints": ", a RULE", "goal_orientation": ", a GOAL"}
"""What the items of the pinned slots are called; every schema has these slots."""


def _kind_of(item: Leaving) -> str:
    return _BINDING.get(item.slot, f" of {item.slot}")


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
