"""The weights in the package: what they were trained on, and that training gives them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from test_lifting import CHANGED, LIFTED
from test_rules_ending import CHANGES, LIFTS
from test_rules_standing import LOOK_ALIKES, STANDING

from acc.keyless.classifiers import Linear
from acc.keyless.sentences import sentences
from acc.keyless.worth import WORTH as WEIGHTS

KEYLESS = Path(__file__).parents[2] / "benchmarks" / "keyless"


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


@pytest.fixture
def dataset(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that reads ``benchmarks/data``."""
    monkeypatch.syspath_prepend(str(KEYLESS))
    return importlib.import_module("dataset")


def _trained_on(dataset: ModuleType) -> Iterator[str]:
    for kind in ("clause_acts", "rule_liftings"):
        for _, case in dataset.read(kind, "train"):
            yield case["message"]
            yield from (part["text"] for part in case.get("parts", ()))
            yield from case.get("held", ())
    for _, labels in dataset.read("scenario_labels"):
        yield from (words for parts in labels["parts"].values() for words, _ in parts)
    for _, scenario in dataset.read("scenarios", "updates"):
        said = (turn[speaker] for turn in scenario["turns"] for speaker in ("user", "assistant"))
        yield from (sentence.text for text in said for sentence in sentences(text, 200))


@pytest.mark.slow
def test_no_sentence_of_the_tests_is_one_of_the_training(dataset: ModuleType) -> None:
    tested = [said for of_kind in STANDING.values() for said in of_kind] + LOOK_ALIKES
    tested += [said for said, _ in (*LIFTS, *CHANGES)]
    tested += [said for pair in (*LIFTED, *CHANGED) for said in pair]
    # Two words or fewer ("Never mind.") are everybody's.
    own = {_plain(said) for said in tested if len(said.split()) > 2}
    assert own & {_plain(text) for text in _trained_on(dataset)} == set()


@pytest.mark.slow
def test_training_gives_the_weights_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(KEYLESS))
    training, stored = (importlib.import_module(name) for name in ("train_worth", "stored"))
    stored.write(training.trained(list(training.examples())), tmp_path / WEIGHTS)
    shipped = Linear.read(WEIGHTS)
    with np.load(tmp_path / WEIGHTS) as trained:
        assert [int(number) for number in trained["keys"]] == list(shipped.rows)
        assert np.array_equal(trained["weights"], shipped.weights)
        assert float(trained["scale"]) == shipped.scale
