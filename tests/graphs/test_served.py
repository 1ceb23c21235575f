"""`langgraph dev` serves `langgraph.json`; driven through the SDK as a client drives it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tenacity
from runs import SAID
from servers import free_port, running

from acc_graphs import plan_execute_reflect, react

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
LANGGRAPH = Path(sys.executable).with_name("langgraph")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a server that was started on the reference graphs."""
    sdk: Any = pytest.importorskip("langgraph_sdk", reason="no langgraph_sdk")
    pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed")
    folder = tmp_path_factory.mktemp("served")  # the server keeps files where it runs
    served = {
        name: f"./graphs/acc_graphs/{name}.py:make_graph"
        for name in ("react", "plan_execute_reflect")
    }
    settings = {"dependencies": ["."], "graphs": served, "env": {}}
    (folder / "langgraph.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "graphs").symlink_to(ROOT / "graphs")
    port = free_port()
    command = [str(LANGGRAPH), "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1"]
    settings = {
        "ACC_MEMORY": str(folder / "memory"), "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGSMITH_TRACING": "false",
    }  # fmt: skip
    log = folder / "log"
    env = {**os.environ, **settings}
    with running([*command, "--port", str(port)], cwd=folder, log=log, env=env):
        client = sdk.get_sync_client(url=f"http://127.0.0.1:{port}")
        try:
            for attempt in tenacity.Retrying(
                stop=tenacity.stop_after_delay(90), wait=tenacity.wait_fixed(0.3), reraise=True
            ):
                with attempt:
                    assert len(client.assistants.search()) == 2
        except Exception:
            pytest.fail(log.read_text(errors="replace")[-2_000:])
        yield client


def said(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.slow
class TestServed:
    @pytest.mark.parametrize("graph", ["react", "plan_execute_reflect"])
    def test_a_thread_of_runs_is_a_conversation(self, client: Any, graph: str) -> None:
        thread = client.threads.create()["thread_id"]
        for text in SAID[graph]:
            out = client.runs.wait(thread, graph, input=said(text))
        last = out["messages"][-1]["content"]
        assert last.startswith(
            "Not yet, by your own rule: Never restart a pipeline during clinic hours"
            if graph == "react"
            else "Upgrade pg-01, pg-02 to 5.2.12; Never deploy without two approvals"
        )
        values = client.threads.get_state(thread)["values"]
        assert values["ccs"] == out["ccs"]
        turns = [s["values"]["ccs"]["turn"] for s in client.threads.get_history(thread, limit=100)
                 if "ccs" in s["values"]]  # fmt: skip
        assert turns == sorted(turns, reverse=True)

    def test_a_run_streams_the_answer_and_the_memorys_progress(self, client: Any) -> None:
        thread = client.threads.create()["thread_id"]
        modes = ["messages-tuple", "custom"]
        parts = list(
            client.runs.stream(thread, "react", input=said(SAID["react"][0]), stream_mode=modes)
        )
        events = [p.data["memory"] for p in parts if p.event == "custom"]
        assert "committed" in events
        spoken = [p.data[0] for p in parts if p.event == "messages"]
        assert len([m for m in spoken if m["type"] == "AIMessageChunk" and m["content"]]) > 3

    def test_a_state_edited_by_hand_is_an_error_until_it_is_put_back(self, client: Any) -> None:
        thread = client.threads.create()["thread_id"]
        ccs = client.runs.wait(thread, "react", input=said(SAID["react"][0]))["ccs"]
        edited = json.loads(json.dumps(ccs).replace("Never restart", "Always restart"))
        client.threads.update_state(thread, {"ccs": edited})
        with pytest.raises(Exception, match="StateError"):
            client.runs.wait(thread, "react", input=said("Get it moving."))
        # As the node that ends a turn: as the input, which LangGraph takes it for, it is not taken.
        client.threads.update_state(thread, {"ccs": ccs}, as_node="reason")
        out = client.runs.wait(thread, "react", input=said("Get it moving."))
        assert out["messages"][-1]["content"].startswith("Not yet, by your own rule")

    def test_a_fork_goes_on_from_the_checkpoint_it_names(self, client: Any) -> None:
        thread = client.threads.create()["thread_id"]
        for text in SAID["react"][:2]:
            client.runs.wait(thread, "react", input=said(text))
        ended = [s for s in client.threads.get_history(thread, limit=100) if not s["next"]]
        past = min(ended, key=lambda s: s["values"]["ccs"]["turn"])
        turn = past["values"]["ccs"]["turn"]
        out = client.runs.wait(
            thread, "react", input=said("And is there a runbook?"), checkpoint=past["checkpoint"]
        )
        assert out["ccs"]["turn"] > turn
        assert out["ccs"]["branch"].startswith("fork-")


def test_the_factories_are_there() -> None:
    assert react.make_graph
    assert plan_execute_reflect.make_graph
