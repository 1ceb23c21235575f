"""``acc eval compose``: a long scenario out of short ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acc.cli.eval_output import check_apart, write_results
from acc.cli.screen import told_json
from acc.evaluation.composing import compose as composed
from acc.evaluation.scenarios import read_scenarios


def compose(
    chained: Sequence[str],
    distractors: Sequence[str],
    out: Path,
    *,
    turns: int,
    seed: int,
    as_json: bool = False,
) -> None:
    """Write the composed scenario to ``out``, and tell what it is.

    Raises:
        InputError: A scenario is malformed, or would be overwritten.
        ConfigurationError: They do not fit.
        AccError: The file cannot be written.
    """
    scenarios = read_scenarios([*chained, *distractors])
    check_apart(str(out), scenarios)
    whose, others = scenarios[: len(chained)], scenarios[len(chained) :]
    value = composed(whose, others, turns=turns, seed=seed)
    write_results(value, str(out))
    probes = len(value["probes"])
    if as_json:
        told_json({"id": value["id"], "turns": turns, "probes": probes, "file": str(out)})
        return
    print(f"{value['id']}: {turns:,} turns, {probes} probes, in {out}")
