"""A scripted stand-in for the chat model: it decides from what stands in its prompt, and nothing else.

Its attention ends, as every model's does: of a longer prompt it reads the system message and
what fits behind it, newest first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, trim_messages

from acc.testing.chat_model import call

ROLE = "You are on call for the clinic's data pipelines. You diagnose, and mitigate what is safe."

ATTENTION = 4_000
"""Tokens of a prompt that the model reads."""

ASKED = (
    ("moving", "restart_pipeline", {"pipeline": "clinic-etl"}),
    ("affected", "list_jobs", {"state": "FAILED"}),
    ("changed", "schema_changes", {"after": "07:00"}),
    ("runbook", "search_runbooks", {"query": "ingestion fails, what is to be done with the pipeline"}),
)  # fmt: skip
"""What a word of the user's makes it want to do."""

_FORBIDS = re.compile(r"[^.\n:\"]*\b(?:never|no|not) restart[^.\n]*", re.I)
_JOB = re.compile(r"\blab-\d+\b")


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """The next message: a call, or an answer."""
    seen = attended(prompt)
    last = seen[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(_reported(last))
    said = str(last.text).lower()
    if "log" in said and (job := _JOB.search(said)):
        return AIMessage("", tool_calls=[call("read_log", job=job[0])])
    for word, tool, arguments in ASKED:
        if word in said:
            return _wanted(seen, tool, arguments)
    return AIMessage("Noted.")


def attended(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What of ``prompt`` the model reads."""
    return trim_messages(
        prompt, max_tokens=ATTENTION, token_counter="approximate", strategy="last",
        include_system=True, start_on="human",
    )  # fmt: skip


def _wanted(seen: Sequence[BaseMessage], tool: str, arguments: dict[str, str]) -> AIMessage:
    """The call, unless what it reads forbids it."""
    read = "\n".join(str(m.text) for m in seen)
    if tool == "restart_pipeline" and (rule := _FORBIDS.search(read)):
        jobs = sorted(set(_JOB.findall(read)))
        rest = f" In scope: {', '.join(jobs)}." if jobs else ""
        return AIMessage(f"Not yet, by your own rule: {rule[0].strip()}.{rest}")
    return AIMessage("", tool_calls=[call(tool, **arguments)])


def _reported(result: ToolMessage) -> str:
    """What a result comes to: the errors of a log, the first lines of anything else."""
    text = str(result.text)
    lines = [line for line in text.splitlines() if "ERROR" in line] or text.splitlines()
    return f"{result.name}: " + "; ".join(dict.fromkeys(lines[:3]))
