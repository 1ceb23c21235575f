"""``acc prune``: deletes evidence that is rarely read or not useful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal, cast

import typer

from acc.cli import options
from acc.cli.opening import opened_store
from acc.cli.output import Consent, DryRunOption, Summary, YesOption, carry_out, count
from acc.errors import InputError
from acc.evidence.deletion import Capacity, Deletion, preset
from acc.evidence.retention import DEFAULT_KINDS, Plan, PrunedKind, Retention
from acc.stores.directory import namespace
from acc.stores.protocol import UNNAMED

PolicyName = Literal["period", "history", "combined", "intersection"]

_NO_POLICY = (
    "choose one: --policy period (rarely read lately: --period, --alpha), history (not useful: "
    "--n, --beta), combined (either) or intersection (both); or limit the number with --capacity. "
    "--dry-run shows what would be deleted"
)


def prune(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    user: options.UserOption = UNNAMED,
    agent: options.AgentOption = UNNAMED,
    tenant: options.TenantOption = UNNAMED,
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
    server: options.ServerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Delete evidence that is rarely read or not useful.

    Prints the plan and asks before it deletes. Evidence that a state cites, or that acc hold
    protects, stays.
    """
    chosen, description = _choose(
        policy, like, {"period": period, "alpha": alpha}, {"n": n, "beta": beta}, capacity
    )
    kinds = cast(Sequence[PrunedKind], kind) or DEFAULT_KINDS
    consent = Consent(dry_run, yes, json)
    with opened_store(memory, server, read_only=dry_run) as controller:
        keeper = Retention(controller)
        plan = keeper.plan(namespace(user, agent, tenant), chosen, kinds)

        def act() -> Summary:
            deleted = keeper.prune(plan)
            line = f"deleted {count(deleted, 'record')} of evidence"
            if kept := len(plan.ids) - deleted:
                line += f"; kept {kept} that are now needed"
            return Summary([line], _as_json(plan, description, deleted))

        head = f"policy: delete {description}; of {', '.join(kinds)}"
        summary = Summary([head, *_lines(plan)], _as_json(plan, description, 0))
        carry_out(consent if plan.ids else consent._replace(dry_run=True), summary, act)


def _choose(
    name: PolicyName | None,
    like: str,
    period_numbers: Mapping[str, int | None],
    history_numbers: Mapping[str, float | None],
    capacity: int | None,
) -> tuple[Deletion, str]:
    """The policy of that name, and what it deletes; the preset ``like`` supplies missing numbers.

    Raises:
        InputError: Neither a policy nor a capacity is named. A default must not delete evidence.
        ConfigurationError: There is no such preset.
    """
    if name is None and capacity is None:
        raise InputError("no policy is named", where="acc prune", hint=_NO_POLICY)
    found = preset(like)
    period = replace(found.period, **_given(period_numbers))
    history = replace(found.history["strict"], **_given(history_numbers))
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
    if name and None in (*period_numbers.values(), *history_numbers.values()):
        description += f" (numbers that were not given are those of {like})"
    if capacity is not None:
        policy = policy.then(Capacity(capacity))
        beyond = f"the least useful beyond {capacity} of those that stay"
        description = f"{description}; then {beyond}" if description else beyond
    return policy, description


def _given(numbers: Mapping[str, float | None]) -> dict[str, Any]:
    return {name: value for name, value in numbers.items() if value is not None}


def _as_json(plan: Plan, description: str, deleted: int) -> dict[str, Any]:
    return {
        "policy": description, "t": plan.t, "looked_at": plan.looked_at, "records": len(plan.ids),
        "deleted_records": deleted, "readings": plan.readings,
        "doomed": [asdict(d) for d in plan.doomed], "protected": [asdict(d) for d in plan.protected],
    }  # fmt: skip


def _lines(plan: Plan) -> list[str]:
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
