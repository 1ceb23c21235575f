"""``benchmarks/data``: its datasheet says what is in it, and what is unpacked can be packed again."""

from __future__ import annotations

import importlib
import lzma
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DATA = BENCHMARKS / "data"


@pytest.fixture
def dataset(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that reads the data."""
    monkeypatch.syspath_prepend(str(BENCHMARKS / "keyless"))
    return importlib.import_module("dataset")


@pytest.mark.slow
def test_the_datasheet_has_the_counts_and_checksums_of_the_data(dataset: ModuleType) -> None:
    tables = "\n".join(dataset.counts())
    assert tables in (DATA / "DATASHEET.md").read_text(encoding="utf-8")


def test_all_training_data_lies_in_one_folder_and_is_described(dataset: ModuleType) -> None:
    files = {f"{kind}.jsonl.xz" for kind in dataset.KINDS}
    assert {path.name for path in DATA.iterdir()} == {"DATASHEET.md", *files}
    answers = BENCHMARKS / "answers"  # what models said, with a README of its own
    assert not [path for path in BENCHMARKS.rglob("*.json*") if path.parent not in (DATA, answers)]


@pytest.mark.slow
def test_records_come_sorted_by_split_and_file(dataset: ModuleType) -> None:
    for kind in dataset.KINDS:
        places = [(split, file) for split, file, _ in dataset._lines(kind)]
        assert places == sorted(places)


def test_what_is_unpacked_is_packed_to_the_same_lines(
    dataset: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ("sentence_worth", "slot_conversations")  # to compress the others takes seconds
    dataset.unpack(tmp_path / "plain", small)
    monkeypatch.setattr(dataset, "DATA", tmp_path)
    dataset.pack(tmp_path / "plain")
    assert len(list(tmp_path.glob("*.xz"))) == len(small)
    for kind in small:
        packed, shipped = (folder / f"{kind}.jsonl.xz" for folder in (tmp_path, DATA))
        assert lzma.decompress(packed.read_bytes()) == lzma.decompress(shipped.read_bytes())


@pytest.mark.slow
def test_scenarios_are_found_by_split_and_by_name(dataset: ModuleType, tmp_path: Path) -> None:
    plain = dataset.scenarios("plain")
    assert len(plain) == 8
    assert all(len(scenario.turns) == 50 for scenario in plain)
    named = dataset.scenarios("held/film", "plain/alder_outage", "finance")
    assert [scenario.id for scenario in named] == ["film", "alder_outage", "finance_close"]
    assert named[1].truth == plain[0].truth
    assert dataset.scenario_files("held/nobody", str(tmp_path)) == ["held/nobody"]
