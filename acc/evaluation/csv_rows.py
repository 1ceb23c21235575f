"""A CSV of figures, for whoever draws their own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from acc.errors import AccError


def write_csv(file: Path, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV; an undefined value (None) is empty, a fraction has six places.

    Raises:
        AccError: It cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="") as out:
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
    return round(value, 6) if isinstance(value, float) else value
