"""The result as Markdown: the paper's Table 2 beside ours, every condition, and the tokens of each agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .judging import METRICS
from .losses import losses
from .paper_figures import TABLE_2
from .running import BOUNDED, Condition, Outcome, Plan
from .statistics import MEASURES, compared, mean
from .team import AGENTS

NAMES = {"turns": "Conversation turns", "cost_effectiveness": "Cost-effectiveness"}
"""Measures that the paper names otherwise than by their field."""


def page(plan: Plan, outcomes: Sequence[Outcome], note: str, baseline: str) -> str:
    """All tables, under what they are of."""
    parts = [f"**{note[0].upper()}{note[1:]}.**"] if note else []
    parts.append(
        f"{plan.runs} runs of at most {plan.turns} turns; a role's memory has at most {plan.memory} tokens"
        + (f"; sentences of talk around a statement: {plan.talk}." if plan.model is None else ".")
    )
    has = plan.conditions
    for roles in (condition for condition in has if condition.memory.startswith("roles")):
        other = Condition(baseline, roles.context if baseline in BOUNDED else 0)
        if other in has:
            title = f"Table 2, {plan.runs} runs: {other.label} and {roles.label}"
            parts.append(f"{title}\n\n{_lines(table_2(outcomes, other, roles))}")
    parts.append(f"Every condition, means\n\n{_lines(means(plan, outcomes))}")
    parts.append(f"Tokens of each agent in a run, means\n\n{_lines(agents(plan, outcomes))}")
    if plan.model is None:
        parts.append(f"Statements in a run, means\n\n{_lines(losses(plan, outcomes))}")
    if failed := sum(outcome.failures for outcome in outcomes):
        parts.append(f"{failed} memory updates failed; the memories stayed as they were.")
    if copies := sum(_copies(outcomes, condition) for condition in has):
        parts.append(
            f"{copies} runs end in the very document of another run of their condition. Runs that are copies are not "
            "independent, and the p-values too small: let the model sample (a temperature above 0)."
        )
    return "\n\n".join(parts)


def _copies(outcomes: Sequence[Outcome], condition: Condition) -> int:
    documents = [outcome.document for outcome in outcomes if outcome.condition == condition]
    return len(documents) - len(set(documents))


def table_2(
    outcomes: Sequence[Outcome], baseline: Condition, roles: Condition
) -> Iterable[Sequence[str]]:
    """The paper's Table 2 and ours."""
    yield (
        "Metric", "paper: Baseline Autogen", "paper: Intrinsic Memory", "paper: p-value",
        baseline.label, roles.label, "p-value, signed rank", "p-value, rank sum",
    )  # fmt: skip
    for measure, paper in TABLE_2.items():
        ours = compared(outcomes, baseline, roles, measure)
        yield (
            _name(measure), f"{paper.baseline:g}", f"{paper.intrinsic:g}", f"{paper.p:g}",
            _number(measure, ours.first), _number(measure, ours.second),
            _chance(ours.signed_rank), _chance(ours.rank_sum),
        )  # fmt: skip


def means(plan: Plan, outcomes: Sequence[Outcome]) -> Iterable[Sequence[str]]:
    """Every measure of every condition, how many runs agreed, and how many have no verdict."""
    yield ("Condition", *map(_name, MEASURES), "Mean of the five", "Agreed", "Not judged")
    for condition in plan.conditions:
        own = [outcome for outcome in outcomes if outcome.condition == condition]
        all_five = sum(mean(own, condition, metric) for metric in METRICS) / len(METRICS)
        yield (
            condition.label,
            *(_number(measure, mean(own, condition, measure)) for measure in MEASURES),
            f"{all_five:.2f}",
            f"{sum(outcome.agreed for outcome in own)} of {len(own)}",
            str(sum(outcome.scores is None for outcome in own)),
        )


def agents(plan: Plan, outcomes: Sequence[Outcome]) -> Iterable[Sequence[str]]:
    """Tokens by agent: whole prompts and answers; then those of memory updates."""
    yield ("Condition", *AGENTS, "memory updates")
    for condition in plan.conditions:
        own = [outcome for outcome in outcomes if outcome.condition == condition]
        spent = [sum(outcome.tokens.get(role, 0) for outcome in own) for role in AGENTS]
        spent.append(sum(outcome.memory_tokens for outcome in own))
        yield (condition.label, *(f"{tokens / len(own):,.0f}" for tokens in spent))


def _name(measure: str) -> str:
    return NAMES.get(measure, measure.capitalize())


def _number(measure: str, value: float) -> str:
    return f"{value:,.0f}" if measure == "tokens" else f"{value:.2f}"


def _chance(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _lines(rows: Iterable[Sequence[str]]) -> str:
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|" + " --- |" * (head.count("|") - 1), *rest])
