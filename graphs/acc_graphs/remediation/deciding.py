"""A scripted stand-in for the chat model: it plans, acts and reflects by what its prompt says.

It is as gullible as models are: a version that its prompt shows is a version it believes, and
what the prompt says last on approvals is how approvals stand. It does not follow what is labelled as
recalled of its own words, of a tool or a document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from acc.testing.chat_model import call
from acc_graphs.planning_prompts import PLAN, REFLECT, STEP

ROLE = "You plan remediations of software vulnerabilities. You change nothing yourself."

STEPS = {
    "search the web for a fix": ("web_search", {"query": "CVE-2031-0420 parcel-gateway fixed"}),
    "read the vendor's advisory": ("read_advisory", {"product": "parcel-gateway"}),
    "read the inventory": ("read_inventory", {"service": "parcel-gateway"}),
}
"""What it knows to do, in the order in which it thinks of it."""

_FIX = re.compile(r"\b5\.2\.(?:9|1\d)\b")
_HOST = re.compile(r"\bpg-\d+\b")
_APPROVALS = re.compile(r"[^.\n;\"]*\bapprovals?\b[^.\n;\"]*", re.I)

_RECALLED = re.compile(r"^\[earlier, (?:agent|tool|document).*(?:\n  .*)*", re.M)


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """The next message: a plan, a call, what came of it, or a reflection."""
    asked = next(str(m.text) for m in reversed(prompt) if m.type == "human")
    if asked.startswith(PLAN):
        web, *records = STEPS  # the web first; where that confirmed nothing, the systems of record
        return AIMessage("", tool_calls=[call("Plan", steps=records if web in asked else [web])])
    if asked.startswith(REFLECT):
        decision, answer = _reflection(prompt, none_left="Steps left: none" in asked)
        return AIMessage("", tool_calls=[call("Reflection", decision=decision, answer=answer)])
    results = [m for m in prompt if isinstance(m, ToolMessage)]
    if results:
        said = "; ".join(str(results[-1].text).splitlines()[:2])
        return AIMessage(f"{results[-1].name} says: {said}")
    tool, arguments = STEPS[asked.removeprefix(STEP)]
    return AIMessage("", tool_calls=[call(tool, **arguments)])


def _reflection(prompt: Sequence[BaseMessage], *, none_left: bool) -> tuple[str, str]:
    read = _read(prompt)
    fixes = _FIX.findall(read)
    if not fixes:
        return ("revise" if none_left else "continue"), "No fixed version is confirmed yet."
    if not none_left:
        return "continue", f"{fixes[0]} fixes it."
    hosts = ", ".join(sorted(set(_HOST.findall(read)))) or "the hosts"
    approvals = _APPROVALS.findall(read)
    gate = approvals[-1].strip() if approvals else "no approval needed"
    return "stop", f"Upgrade {hosts} to {fixes[0]}; {gate}."


def _read(prompt: Sequence[BaseMessage]) -> str:
    return _RECALLED.sub("", "\n".join(str(m.text) for m in prompt))
