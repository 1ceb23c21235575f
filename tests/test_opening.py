"""Opening a memory: one folder for all of it, settings that are checked, and nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError
from acc.pipeline.session import Settings
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore
from acc.turn.turn import Turn


@pytest.mark.parametrize("kind", [MemoryController, AsyncMemoryController])
@pytest.mark.parametrize("wrong", [{"gate": 5}, {"fallback": "nope"}, {"compressor": 5}])
def test_a_setting_that_cannot_work_leaves_the_folder_free(
    kind: Any, wrong: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError):
        kind.open(tmp_path, **wrong)
    MemoryController.open(tmp_path).close()


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


def test_settings_and_a_setting_by_name_go_together(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, settings=Settings(floor=2), input_chars=5_000) as memory:
        assert (memory.settings.floor, memory.settings.input_chars) == (2, 5_000)
    with pytest.raises(ConfigurationError, match="nonsense"):
        MemoryController.open(tmp_path, settings=Settings(), nonsense=3)


def test_the_audit_folder_may_be_given_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with MemoryController(InMemoryStore(), audit="logs") as memory:
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
