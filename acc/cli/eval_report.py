"""``acc eval report``: results of evaluations as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acc.cli.screen import told_json
from acc.errors import InputError
from acc.evaluation.reporting.judge_section import judge_section
from acc.evaluation.reporting.probe_section import probe_section
from acc.evaluation.reporting.reading import Read, read_results
from acc.report.page import page, write_page


def report(results: Sequence[Path], out: Path, *, as_json: bool = False) -> None:
    """Write the page; live evaluations come first, in the order given.

    With ``as_json`` the page's file and what it shows are told on stdout.

    Raises:
        InputError: A file holds no results, or would be overwritten.
        AccError: The page cannot be written.
    """
    if any(out.exists() and file.exists() and out.samefile(file) for file in results):
        raise InputError("--out would overwrite results", where=str(out), mend="name another file")
    read = sorted(read_results(results), key=lambda each: each.kind != "judge")
    write_page(page("Evaluation of memories", "".join(map(_section, read))), out)
    if as_json:
        shown = [{"file": str(each.file), "kind": each.kind} for each in read]
        told_json({"page": str(out), "results": shown})


def _section(read: Read) -> str:
    section = judge_section if read.kind == "judge" else probe_section
    try:
        return section(read.value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"the results are not whole: {type(error).__name__}: {error}",
            where=str(read.file),
            mend="evaluate again with this version",
        ) from error
