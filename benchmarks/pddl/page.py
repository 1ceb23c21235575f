"""The tables, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .paper_figures import TABLE_1
from .playing import Played
from .study import Row, mean

Cells = Sequence[str]


def page(rows: Sequence[Row], command: str, agent: str) -> str:
    """All tables of what was run.

    Args:
        rows: What came of each task with each memory.
        command: What was typed.
        agent: Who acted, in words.
    """
    parts = [f"`{command}`\n\nThe agent is {agent}."]
    for benchmark in (False, True):
        whose = "the benchmark's" if benchmark else "our"
        for needs in (True, False):
            some = [r for r in rows if r.benchmark == benchmark and r.needs_memory == needs]
            if not some:
                continue
            shown = "only news is shown" if needs else "everything is shown after each action"
            domains = ", ".join(dict.fromkeys(row.domain for row in some))
            tasks = len({row.task for row in some})
            parts.append(f"## {tasks} of {whose} tasks in which {shown} ({domains})")
            if needs:
                parts.append(_titled("Held along a plan", kept_table(some)))
            if any(row.blind for row in some):
                title = "Played without looking around"
                parts.append(_titled(title, played_table(some, may_look=False)))
            if any(row.looking for row in some):
                title = "Played, looks allowed"
                parts.append(_titled(title, played_table(some, may_look=True)))
    if any(row.benchmark and row.looking for row in rows):
        parts.append(_titled("The paper's Table 1, and ours", paper_table(rows)))
    return "\n\n".join(parts) + "\n"


def kept_table(rows: Sequence[Row]) -> list[str]:
    """What each memory held along the planner's plan, means over tasks."""
    head = ("memory", "bound", "held", "stale", "needed, held", "steps with all needed", "tokens")
    return _table(head, (
        (name, bound, *(f"{mean([getattr(r.kept, key) for r in some]):.2f}"
                        for key in ("held", "stale", "needed", "ready")),
         f"{mean([r.kept.tokens for r in some]):.0f}")
        for name, bound, some in _grouped(rows)
    ))  # fmt: skip


def played_table(rows: Sequence[Row], *, may_look: bool) -> list[str]:
    """How each memory's tasks went, means over tasks."""
    head = [
        "memory",
        "bound",
        "progress",
        "done",
        "steps",
        "looks",
        "refused",
        "memory tokens",
        "tokens a task",
    ]
    lines = []
    for name, bound, some in _grouped(rows):
        games = [game for row in some if (game := row.looking if may_look else row.blind)]
        done = sum(game.done for game in games)
        lines.append((
            name, bound, f"{_mean(games, 'progress'):.2f}", f"{done} of {len(games)}",
            *(f"{_mean(games, key):.1f}" for key in ("steps", "looks", "refused")),
            *(f"{_mean(games, key):,.0f}" for key in ("memory_tokens", "tokens")),
        ))  # fmt: skip
    return _table(head, lines)


def paper_table(rows: Sequence[Row]) -> list[str]:
    """Average reward and tokens of a task over the benchmark's tasks; memories that met all of them."""
    mine = [row for row in rows if row.benchmark]
    tasks = {row.task for row in mine}
    lines: list[Cells] = [
        ("paper", name, "", f"{reward:.4f}", f"{tokens:,}", f"{reward / tokens * 1e7:.2f}")
        for name, (reward, tokens) in TABLE_1.items()
    ]
    for name, bound, some in _grouped(mine):
        if {row.task for row in some} == tasks:
            games = [row.looking for row in some if row.looking]
            reward, tokens = _mean(games, "progress"), _mean(games, "tokens")
            lines.append(
                ("here", name, bound, f"{reward:.4f}", f"{tokens:,.0f}", f"{reward / tokens * 1e7:.0f}")
            )  # fmt: skip
    return _table(
        ("whose", "memory", "bound", "average rewards", "average tokens", "reward / token, 1e-7"), lines
    )  # fmt: skip


def _grouped(rows: Sequence[Row]) -> Iterable[tuple[str, str, list[Row]]]:
    for name, tokens in dict.fromkeys((row.memory, row.tokens) for row in rows):
        bound = "-" if name in ("no memory", "transcript, no bound") else str(tokens)
        yield name, bound, [r for r in rows if (r.memory, r.tokens) == (name, tokens)]


def _mean(games: Sequence[Played], key: str) -> float:
    return mean([float(getattr(game, key)) for game in games])


def _titled(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {title}", "", *lines])


def _table(head: Cells, rows: Iterable[Cells]) -> list[str]:
    return [_line(head), "| --- " * len(head) + "|", *map(_line, rows)]


def _line(cells: Cells) -> str:
    return f"| {' | '.join(cells)} |"
