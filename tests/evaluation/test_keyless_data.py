"""``benchmarks/data`` and the weights of the keyless compressor: what is described is there, and training gives it."""

from __future__ import annotations

import importlib
import lzma
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from helpers_toy import ROOT

BENCHMARKS = ROOT / "benchmarks"
DATA = BENCHMARKS / "data"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script of ``benchmarks/keyless``."""
    monkeypatch.syspath_prepend(str(BENCHMARKS / "keyless"))
    return importlib.import_module


@pytest.fixture
def dataset(module: Callable[[str], ModuleType]) -> ModuleType:
    """The module that reads the data."""
    return module("dataset")


@pytest.mark.slow
def test_the_datasheet_has_the_counts_and_checksums_of_the_data(dataset: ModuleType) -> None:
    tables = "\n".join(dataset.counts())
    assert tables in (DATA / "DATASHEET.md").read_text(encoding="utf-8")


def test_each_kind_of_data_is_described(dataset: ModuleType) -> None:
    sheet = (DATA / "DATASHEET.md").read_text(encoding="utf-8")
    for kind in dataset.KINDS:
        assert (DATA / f"{kind}.jsonl.xz").exists()
        assert f"| `{kind}.jsonl.xz` |" in sheet


@pytest.mark.slow
def test_records_come_sorted_by_split_and_file(dataset: ModuleType) -> None:
    for kind in dataset.KINDS:
        places = [(split, file) for split, file, _ in dataset._lines(kind)]
        assert places == sorted(places)


def test_what_is_unpacked_is_packed_to_the_same_lines(
    dataset: ModuleType, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ("sentence_worth", "told_facts")  # to compress the others takes seconds
    folder = type(DATA)(str(tmp_path))
    dataset.unpack(folder / "plain", small)
    monkeypatch.setattr(dataset, "DATA", folder)
    dataset.pack(folder / "plain")
    assert len(list(folder.glob("*.xz"))) == len(small)
    for kind in small:
        packed, shipped = (each / f"{kind}.jsonl.xz" for each in (folder, DATA))
        assert lzma.decompress(packed.read_bytes()) == lzma.decompress(shipped.read_bytes())


@pytest.mark.slow
def test_scenarios_are_found_by_split_and_by_name(dataset: ModuleType, tmp_path: object) -> None:
    plain = dataset.scenarios("plain")
    assert len(plain) == 8
    assert all(len(scenario.turns) == 50 for scenario in plain)
    named = dataset.scenarios("held/film", "plain/alder_outage", "finance")
    assert [scenario.id for scenario in named] == ["film", "alder_outage", "finance_close"]
    assert named[1].truth == plain[0].truth
    assert dataset.scenario_files("held/nobody", str(tmp_path)) == ["held/nobody"]


@pytest.mark.slow
def test_training_and_packing_give_the_weights_of_the_package(
    module: Callable[[str], ModuleType],
) -> None:
    pack = module("pack")
    made = pack.packed()
    with np.load(pack.WEIGHTS) as shipped:
        assert sorted(shipped.files) == sorted(made)
        for name, value in made.items():  # processors differ in the last bit of a float
            rtol = 1e-12 if np.asarray(value).dtype.kind == "f" else 0
            np.testing.assert_allclose(value, shipped[name], rtol=rtol, err_msg=name)
