"""Opening a memory: one folder for all of it, settings that are checked, and nothing left behind."""

from __future__ import annotations

from dataclasses import MISSING, fields
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import pytest

from acc.compress.model import ModelOptions, ModelSettings
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError
from acc.integrations.langgraph import MemoryNode, MemoryNodeOptions
from acc.pipeline.session import Settings
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore
from acc.testing.chat_model import ScriptedChatModel
from acc.turn.turn import Turn


@pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])
@pytest.mark.parametrize("wrong", [{"gate": 5}, {"fallback": "nope"}, {"compressor": 5}])
def test_a_setting_that_cannot_work_leaves_the_folder_free(
    kind: Any, wrong: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError):
        kind.open(tmp_path, **wrong)
    MemoryController.open(tmp_path).close()


def test_a_model_under_the_schemas_own_bound_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"policy": Policy()}, True),
        ({"policy": Policy(), "max_tokens": 800}, False),
        ({"policy": Policy(max_tokens=1_200)}, False),
    ]
    for options, is_told in given:
        caplog.clear()
        MemoryController.open(tmp_path, model=ScriptedChatModel(script=["x"]), **options).close()
        assert ("max_tokens=800 without_a_policy=1600" in caplog.text) is is_told


@pytest.mark.parametrize(
    "wrong",
    [
        {"audit": 5},
        {"policy": 5},
        {"clock": 5},
        {"recall": 5},
        {"gate": "none"},
        {"floor": "a"},
        {"floor": -1},
        {"floor": True},
        {"input_chars": -1},
        {"input_chars": 0},
    ],
)
def test_a_value_that_is_none_for_its_setting_is_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"style": "x"}, {"max_tokens": "800"}, {"counter": len}, {"schema": 5}, {"max_tokens": -1}],
)
def test_a_policy_of_values_that_are_none_is_told(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Policy(**wrong)


def test_open_takes_every_setting_by_its_name_and_with_its_default(tmp_path: Path) -> None:
    opening = signature(MemoryController.open).parameters
    for field in fields(Settings):
        assert field.name in opening
        if field.default is not MISSING and field.name != "audit":
            assert opening[field.name].default == field.default
    with MemoryController.open(tmp_path, floor=2, input_chars=5_000) as memory:
        assert (memory.settings.floor, memory.settings.input_chars) == (2, 5_000)
        assert memory.settings.audit == tmp_path / "audit"


def test_a_schema_and_a_bound_replace_those_of_the_policy(tmp_path: Path) -> None:
    class Narrow(CompressedCognitiveState):
        max_tokens: ClassVar[int] = 300

    policy = Policy(max_tokens=500, lifting="accept")
    for given, schema, bound in (
        ({"schema": Narrow}, Narrow, 300),
        ({"schema": Narrow, "max_tokens": 200}, Narrow, 200),
        ({"max_tokens": 200, "policy": policy}, CompressedCognitiveState, 200),
    ):
        with MemoryController.open(tmp_path / f"m{bound}{schema.__name__}", **given) as memory:
            opened = memory.settings.policy
            assert (opened.schema, opened.max_tokens) == (schema, bound)
            assert opened.lifting == ("accept" if "policy" in given else "confirm")


@pytest.mark.parametrize("audit", [False, None])
def test_a_memory_without_audit_logs_writes_none(audit: Any, tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, audit=audit) as memory:
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
        assert memory.last_state("t") is None
    assert not (tmp_path / "audit").exists()


def test_the_audit_folder_may_be_given_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with MemoryController(InMemoryStore(), settings=Settings(audit="logs")) as memory:
        monkeypatch.chdir(tmp_path / "elsewhere")
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
    assert list((tmp_path / "logs").glob("t-*.jsonl"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_home_folder_holds_store_and_audit_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with MemoryController.open("~/memory") as memory:
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
    assert list((tmp_path / "home" / "memory" / "audit").glob("t-*.jsonl"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_logs_stay_beside_the_store_where_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with MemoryController.open("memory") as memory:
        monkeypatch.chdir(tmp_path / "elsewhere")
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
        assert memory.last_state("t") is not None
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_home_that_nobody_has_is_told() -> None:
    with pytest.raises(ConfigurationError, match="nosuchuser"):
        MemoryController.open("~nosuchuser/memory")


def test_the_options_by_name_are_those_that_the_classes_take() -> None:
    """An editor completes the options from one list, and the classes read another: they must agree."""
    assert set(ModelOptions.__annotations__) == {field.name for field in fields(ModelSettings)}
    taken = set(signature(MemoryNode.__init__).parameters) - {"self", "controller"}
    assert set(MemoryNodeOptions.__annotations__) == taken
