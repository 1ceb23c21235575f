"""Reads the data in ``benchmarks/data``, which its ``DATASHEET.md`` describes.

    python benchmarks/keyless/dataset.py counts           # print the tables of the datasheet
    python benchmarks/keyless/dataset.py unpack FOLDER    # write plain files: KIND/SPLIT/FILE.json or .jsonl
    python benchmarks/keyless/dataset.py pack FOLDER      # compress such a folder into benchmarks/data

Each kind of data is one file, ``KIND.jsonl.xz``. A line is one record, with its ``split`` and its ``file``
in front: what has the same split and file was written together, and is held out together. Lines are sorted
by split, then by file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from acc_eval.scenarios import Scenario, read_scenarios

DATA = Path(__file__).parents[1] / "data"
Record = dict[str, Any]


class Kind(NamedTuple):
    """How records of a kind are counted and unpacked.

    Attributes:
        unit: What is counted inside a record.
        units: The number of units in a record.
        one_per_file: Whether a file holds a single record, and is unpacked as JSON; else as JSONL.
    """

    unit: str
    units: Callable[[Record], int]
    one_per_file: bool = False


KINDS = {
    "clause_acts": Kind("clauses", lambda r: len(r["parts"])),
    "rule_liftings": Kind("rules ended", lambda r: len(r["effects"])),
    "sentence_worth": Kind(
        "sentences", lambda r: sum(len(t["user"]) + len(t["reply"]) for t in r["turns"])
    ),
    "told_facts": Kind("facts", lambda r: len(r["facts"])),
    "scenarios": Kind("turns", lambda r: len(r["turns"]), one_per_file=True),
    "scenario_labels": Kind(
        "clauses", lambda r: sum(map(len, r["parts"].values())), one_per_file=True
    ),
}


def read(kind: str, split: str | None = None) -> Iterator[tuple[str, Record]]:
    """The records of a kind, each with the name of its file; of all splits, or of one."""
    for found, file, record in _lines(kind):
        if split in (None, found):
            yield file, record


def read_files(kind: str, split: str) -> Iterator[tuple[str, list[Record]]]:
    """The same file by file."""
    for file, pairs in groupby(read(kind, split), key=lambda pair: pair[0]):
        yield file, [record for _, record in pairs]


def _lines(kind: str) -> Iterator[tuple[str, str, Record]]:
    with lzma.open(_path(kind), "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            record = json.loads(line)
            yield record.pop("split"), record.pop("file"), record


def _path(kind: str) -> Path:
    return DATA / f"{kind}.jsonl.xz"


def scenarios(*given: str) -> list[Scenario]:
    """The scenarios of a split (``held``), one of them (``held/film``), or what `read_scenarios` takes."""
    with TemporaryDirectory() as folder:
        return read_scenarios([path for name in given for path in scenario_files(name, folder)])


def scenario_files(name: str, folder: str) -> list[str]:
    """Write the scenarios of the split ``name``, or the one of that name, into ``folder``.

    Returns:
        Their paths, in order; ``name`` itself where the data has no such scenario.
    """
    split, _, wanted = name.partition("/")
    found = ((f, r) for f, r in read("scenarios", split) if wanted in ("", f))
    paths = [_written(Path(folder, split, f"{file}.json"), [record]) for file, record in found]
    return [str(path) for path in paths] or [name]


def unpack(folder: Path, kinds: Iterable[str] = tuple(KINDS)) -> None:
    """Write the data into ``folder`` as plain files, of all kinds or of some."""
    for kind in kinds:
        suffix = ".json" if KINDS[kind].one_per_file else ".jsonl"
        for (split, file), lines in groupby(_lines(kind), key=lambda line: line[:2]):
            _written(folder / kind / split / f"{file}{suffix}", [record for *_, record in lines])


def _written(path: Path, records: Sequence[Record]) -> Path:
    indent = 1 if path.suffix == ".json" else None
    lines = (json.dumps(record, ensure_ascii=False, indent=indent) + "\n" for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


_PRESET = 6 | lzma.PRESET_EXTREME  # its window of 8 MiB holds each file whole


def pack(folder: Path) -> None:
    """Compress the kinds of data that `unpack` wrote into ``folder``; the others stay as they are."""
    for kind in KINDS:
        paths = sorted((folder / kind).glob("*/*.json*"), key=lambda p: (p.parent.name, p.stem))
        if not paths:
            continue
        with lzma.open(_path(kind), "wt", preset=_PRESET, encoding="utf-8", newline="\n") as packed:
            for path in paths:
                text = path.read_text(encoding="utf-8")
                whole = [text] if KINDS[kind].one_per_file else text.splitlines()
                for record in map(json.loads, whole):
                    line = {"split": path.parent.name, "file": path.stem, **record}
                    packed.write(json.dumps(line, ensure_ascii=False) + "\n")


def counts() -> Iterator[str]:
    """The two tables of the datasheet: what is in each split, and a checksum of each file's lines."""
    yield "| data | split | files | records | inside |\n| --- | --- | --- | --- | --- |"
    for kind, (unit, units, _) in KINDS.items():
        files: dict[str, set[str]] = defaultdict(set)
        sizes: dict[str, list[int]] = defaultdict(list)
        for split, file, record in _lines(kind):
            files[split].add(file)
            sizes[split].append(units(record))
        for split, each in sizes.items():
            inside = f"{sum(each):,} {unit}"
            yield f"| `{kind}` | {split} | {len(files[split])} | {len(each):,} | {inside} |"
    yield "\n| file | bytes unpacked | SHA-256 of the unpacked lines |\n| --- | --- | --- |"
    for kind in KINDS:
        lines = lzma.decompress(_path(kind).read_bytes())
        yield f"| `{_path(kind).name}` | {len(lines):,} | `{hashlib.sha256(lines).hexdigest()}` |"


def main() -> None:
    """Count, unpack or pack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("counts")
    for name in ("unpack", "pack"):
        commands.add_parser(name).add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "counts":
        print("\n".join(counts()))
    else:
        (unpack if options.command == "unpack" else pack)(options.folder)


if __name__ == "__main__":
    main()
