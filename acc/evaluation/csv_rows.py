"""A CSV of figures, for whoever draws their own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from acc.errors import AccError
from acc.folders import opened_private, private_folder
from acc.inert import inert

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What begins a formula; the second half in full width, which some programs take for the same."""


def write_csv(file: Path, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV; an undefined value (None) is empty, a fraction has six places.

    Raises:
        AccError: It cannot be written.
    """
    try:
        private_folder(file.parent)
        with opened_private(file, "w", encoding="utf-8", newline="") as out:
            lines = csv.writer(out, lineterminator="\n")
            lines.writerow(headings)
            lines.writerows([_shown(value) for value in row] for row in rows)
    except OSError as error:
        raise AccError(
            f"the CSV cannot be written: {error.strerror or error}",
            where=str(file),
            mend="name another folder",
        ) from error


def _shown(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        text = inert(value)
        # A spreadsheet takes such a cell for a formula, and runs it.
        return f"'{text}" if text.lstrip()[:1] in _FORMULA else text
    return round(value, 6) if isinstance(value, float) else value
