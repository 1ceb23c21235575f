"""Reading back what ``acc eval probe --json`` and ``acc eval judge --json`` wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from acc.errors import InputError

Results = dict[str, Any]


class Read(NamedTuple):
    """The results of one file."""

    kind: Literal["probe", "judge"]
    file: Path
    value: Results


def read_results(files: Sequence[Path]) -> list[Read]:
    """Read files of results.

    Raises:
        InputError: One cannot be read, or is no result of an evaluation.
    """
    return [_read(file) for file in files]


def _read(file: Path) -> Read:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        what = f"the results cannot be read: {error.strerror or error}"
        raise InputError(what, where=str(file), mend="name another file") from error
    except (ValueError, RecursionError) as error:
        raise _no_result(file, f"not JSON: {error}") from error
    if isinstance(value, dict):
        if {"metrics", "scenarios", "memories"} <= value.keys():
            return Read("probe", file, value)
        if {"configuration", "runs", "memories", "paired"} <= value.keys():
            return Read("judge", file, value)
    raise _no_result(file, "no results of an evaluation")


def _no_result(file: Path, what: str) -> InputError:
    mend = "name what acc eval probe --json or acc eval judge --json wrote"
    return InputError(what, where=str(file), mend=mend)
