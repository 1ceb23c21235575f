"""Where a remediation planner looks: the web, the vendor's advisories, and what is installed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, ToolException, tool

from acc.turn.observations import Channel

CHANNELS = {"web_search": Channel.DOCUMENT}
"""Anybody can write what a web search brings back; the others ask systems of record."""

_PAGES: dict[str, Any] = json.loads(
    Path(__file__).with_name("pages.json").read_text(encoding="utf-8")
)


@tool
def web_search(query: str) -> str:
    """Search the web: pages that share words with the query, the best first."""
    asked = _words(query)
    scored = [(len(asked & _words(page["text"])), page) for page in _PAGES["results"]]
    found = [page for score, page in sorted(scored, key=lambda s: -s[0]) if score]
    return "\n".join(f"{page['site']}: {page['text']}" for page in found) or "nothing found"


@tool
def read_advisory(product: str) -> str:
    """The vendor's own advisory for a product, from the vendor's signed feed."""
    if product not in _PAGES["advisories"]:
        raise ToolException(f"the vendor has no advisory for {product!r}")
    return str(_PAGES["advisories"][product])


@tool
def read_inventory(service: str) -> str:
    """Hosts and versions of a service, from the inventory."""
    rows = [row for row in _PAGES["inventory"] if row["service"] == service]
    return "\n".join(f"{r['host']} {r['service']} version={r['version']}" for r in rows) or "none"


read_advisory.handle_tool_error = True

TOOLS: tuple[BaseTool, ...] = (web_search, read_advisory, read_inventory)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w-]{4,}", text.lower()))
