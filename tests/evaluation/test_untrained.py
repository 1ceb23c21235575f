"""No sentence on which the keyless compressor and judge are tested is one that they were trained on."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from types import ModuleType

import pytest
from helpers_toy import ROOT

from acc.text.sentences import sentences

TESTS = ROOT / "tests/core/keyless"


@pytest.fixture
def dataset(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that reads ``benchmarks/data``."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "keyless"))
    return importlib.import_module("dataset")


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def _tested() -> Iterator[str]:
    """Each sentence that a string of the tests holds; two words or fewer ("Never mind.") are everybody's."""
    for path in TESTS.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                said = (each.text for each in sentences(node.value))
                yield from (each for each in said if len(each.split()) > 2)


def _trained_on(dataset: ModuleType) -> Iterator[str]:
    for kind in ("clause_acts", "rule_liftings"):
        for _, case in dataset.read(kind, "train"):
            yield case["message"]
            yield from (part["text"] for part in case.get("parts", ()))
            yield from case.get("held", ())
    for _, labels in dataset.read("scenario_labels"):
        yield from (words for parts in labels["parts"].values() for words, _ in parts)


@pytest.mark.slow
def test_no_sentence_of_the_tests_is_one_of_the_training(dataset: ModuleType) -> None:
    own = {_plain(said) for said in _tested()}
    assert len(own) > 50
    assert own & {_plain(text) for text in _trained_on(dataset)} == set()
