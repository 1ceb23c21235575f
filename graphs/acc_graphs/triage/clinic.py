"""The clinic's pipelines as an agent sees them: diagnostics that read, and one act that disrupts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from acc.turn.observations import Channel

HERE = Path(__file__).parent

CHANNELS = {"search_runbooks": Channel.DOCUMENT}
"""A runbook is what somebody once wrote, not what a diagnostic found."""


class Clinic:
    """Jobs, changes, logs and runbooks in files beside this one.

    Attributes:
        restarted: The pipelines that were restarted, in order.
    """

    def __init__(self) -> None:
        self._data: dict[str, Any] = json.loads((HERE / "clinic.json").read_text("utf-8"))
        self.restarted: list[str] = []

    def tools(self) -> list[BaseTool]:
        """The agent's tools. What they refuse comes back as their result."""
        methods = (
            self.list_jobs, self.read_log, self.schema_changes, self.search_runbooks,
            self.restart_pipeline,
        )  # fmt: skip
        return [StructuredTool.from_function(m, handle_tool_error=True) for m in methods]

    def list_jobs(self, state: str = "") -> str:
        """The pipeline's jobs, those in a state such as FAILED alone if one is given. Reads only."""
        found = [job for job in self._data["jobs"] if not state or job["state"] == state.upper()]
        return _lines(found) or f"no job is {state}"

    def read_log(self, job: str) -> str:
        """The whole log of a job. Reads only."""
        path = HERE / "logs" / f"{job}.log"
        if not re.fullmatch(r"lab-\d+", job) or not path.is_file():
            raise ToolException(f"there is no job {job!r}")
        return path.read_text("utf-8")

    def schema_changes(self, after: str = "00:00") -> str:
        """What was changed today after a time of day. Reads only."""
        found = [change for change in self._data["changes"] if change["at"] >= after]
        return _lines(found) or f"nothing was changed after {after}"

    def search_runbooks(self, query: str) -> str:
        """The runbook that shares most words with the query."""
        asked = _words(query)
        shelf = self._data["runbooks"]
        best = max(shelf, key=lambda book: len(asked & _words(book["text"])))
        return f"{best['id']} ({best['year']}): {best['text']}"

    def restart_pipeline(self, pipeline: str) -> str:
        """Restart a pipeline. Disrupts: batches in flight are lost."""
        if pipeline not in {job["pipeline"] for job in self._data["jobs"]}:
            raise ToolException(f"there is no pipeline {pipeline!r}")
        self.restarted.append(pipeline)
        return f"{pipeline} restarted; 3 batches in flight were lost"


def _lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(" ".join(f"{k}={v}" for k, v in row.items()) for row in rows)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))
