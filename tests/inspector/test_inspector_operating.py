"""The operator's acts behind the page: planned first, then done, beside the agent's process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers_inspector import (
    HOME,
    OPS,
    SAID,
    forked,
    looking_at,
    memory_in,
    remembered,
    threads_of,
)
from starlette.testclient import TestClient

from acc.errors import ConflictError
from acc.inspector.acts import OperatorActs
from acc.inspector.server import TOKEN, application
from acc.inspector.threads import Details
from acc.journal.opened import FILE

SECRET = "a-token-of-the-test"


def operated(folder: Path) -> Callable[..., dict[str, Any]]:
    """Plans and confirms an act of the operator on the thread; returns what was told."""
    acts = OperatorActs(partial(memory_in, folder))
    client = TestClient(application(looking_at(folder, acts=acts, token=SECRET)), base_url=HOME)
    headers = {TOKEN: SECRET}

    def act(*, confirm: bool = True, **asked: Any) -> dict[str, Any]:
        told = client.post("/api/plan", json={"log": OPS, **asked}, headers=headers).json()
        if confirm and "plan" in told:
            plan = {"plan": told["plan"]}
            told["done"] = client.post("/api/confirm", json=plan, headers=headers).json()
        return dict(told)

    return act


def test_an_operator_retires_an_item(tmp_path: Path) -> None:
    act = operated(remembered(tmp_path, SAID[:2]))
    assert "no item zz9" in act(act="retire", ids=["zz9"])["error"]
    assert "no item none" in act(act="retire", ids=[])["error"]
    planned = act(act="retire", ids=["c1"], reason="audit freeze", confirm=False)
    assert planned["lines"] == [
        "retire c1: Never restart db-1.", "reason, kept in the commit: audit freeze",
    ]  # fmt: skip
    assert len(threads_of(tmp_path).index(OPS).entries) == 2
    told = act(act="retire", ids=["c1"], reason="audit freeze")
    assert told["done"]["lines"][0].startswith("retired c1")
    entries = threads_of(tmp_path).index(OPS).entries
    assert [entry["kind"] for entry in entries] == ["turn", "turn", "operator"]


def test_an_item_of_a_branch_is_retired_there(tmp_path: Path) -> None:
    branch = forked(tmp_path)
    with memory_in(tmp_path) as memory:
        state = memory.last_state("ops", branch=branch)
        assert state is not None
        (fact,) = [item for item in state.relational_map if "50 pods" in item.text]
    told = operated(tmp_path)(act="retire", branch=branch, ids=[fact.id])
    assert "done" in told
    index = threads_of(tmp_path).index(OPS, branch)
    changed = Details(threads_of(tmp_path), index).of(4)["changes"]
    assert [(each["change"], each["id"]) for each in changed] == [("removed", fact.id)]


def test_an_erasure_shows_its_plan_and_then_leaves_no_trace(tmp_path: Path) -> None:
    act = operated(remembered(tmp_path))
    told = act(act="erase", what="evidence", ref="u2", confirm=False)
    assert told["lines"][1] == "  message u2 of ops (user)"
    assert b"40 pods" in b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    told = act(act="erase", what="evidence", ref="u2")
    assert told["done"]["lines"][-1].endswith("0 traces; proved")
    assert b"40 pods" not in b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    threads = threads_of(tmp_path)
    assert all(entry["fault"] == "" for entry in threads.index(OPS).entries)
    source = Details(threads, threads.index(OPS)).source("u2")
    assert source["unavailable"] == "an erasure removed this text"


def test_a_plan_that_the_agent_has_overtaken_is_not_carried_out(tmp_path: Path) -> None:
    acts = OperatorActs(partial(memory_in, remembered(tmp_path)))
    with memory_in(tmp_path) as memory:
        asked = {"act": "erase", "what": "evidence", "ref": "u2"}
        plan = acts.plan(next(memory.threads()), asked)["plan"]
        remembered(tmp_path, ["Again: the limit is 40 pods. Is node-7 ready?"])
        with pytest.raises(ConflictError, match="has changed since"):
            acts.confirm(plan)


def test_a_hold_stops_an_erasure_until_it_is_released(tmp_path: Path) -> None:
    act = operated(remembered(tmp_path))
    assert "done" in act(act="hold", reason="legal")
    assert "legal" in act(act="erase", what="thread")["error"]
    assert act(act="release")["done"] == {"lines": ["no holds"]}
    assert "done" in act(act="erase", what="thread")
    assert threads_of(tmp_path).rows() == []


def test_acts_work_beside_an_agent_that_has_the_memory_open(tmp_path: Path) -> None:
    with memory_in(tmp_path) as memory:
        remembered(tmp_path)
        told = operated(tmp_path)(act="retire", ids=["c1"])
        assert "done" in told
        state = memory.last_state("ops")
        assert state is not None
        assert state.constraints == ()


def test_what_cannot_be_erased_is_told(tmp_path: Path) -> None:
    act = operated(remembered(tmp_path))
    for asked in ({"what": "user"}, {"what": "evidence"}, {"what": "all"}):
        assert "nothing of that kind" in act(act="erase", **asked)["error"]
