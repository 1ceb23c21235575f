"""Where an evaluation's results are written."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acc.errors import AccError, InputError
from acc.evaluation.scenarios import Scenario
from acc.folders import opened_for_text


def write_results(value: dict[str, Any], out: str) -> None:
    """Write ``value`` to the file ``out``; ``-`` is stdout.

    Raises:
        AccError: It cannot be written.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        with opened_for_text(Path(out)) as file:
            file.write(text)
    except OSError as error:
        raise AccError(
            f"the results cannot be written: {error.strerror or error}",
            where=out,
            mend="free space or name another file",
        ) from error


def check_apart(out: str, scenarios: Sequence[Scenario]) -> None:
    """Refuse to write results over what they are computed from.

    Raises:
        InputError: ``out`` is a file of one of ``scenarios``.
    """
    if out in ("", "-") or not Path(out).exists():
        return
    for scenario in scenarios:
        if any(Path(out).samefile(file) for file in scenario.files):
            raise InputError(
                "the output would overwrite a scenario", where=out, mend="name another file"
            )
