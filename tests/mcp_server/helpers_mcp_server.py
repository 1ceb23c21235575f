"""Talks with a server in this process, by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client

from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.mcp_server import Serving
from acc.mcp_server.server import memory_server
from acc.text.tokens import utf8_quarter

T = TypeVar("T")

Memory = MemoryController[Any]


class Called(str):
    """The text of a tool's result. ``failed`` says whether it is an error."""

    failed: bool

    @classmethod
    def of(cls, result: Any) -> Called:
        text = cls("\n".join(part.text for part in result.content))
        text.failed = bool(result.is_error)
        return text


async def call(client: Client, tool: str, **arguments: Any) -> Called:
    return Called.of(await client.call_tool(tool, arguments))


def talk(server: Any, conversation: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def run() -> T:
        async with Client(server, mode=mode) as client:
            return await conversation(client)

    return asyncio.run(run())


def memory_in(folder: Path, **settings: Any) -> Memory:
    return MemoryController.open(folder, **{"store": "none", **settings})


def calls(server: Any, *wanted: tuple[str, dict[str, Any]], mode: str = "auto") -> list[Called]:
    """The results of calls, one after the other."""

    async def each(client: Client) -> list[Called]:
        return [await call(client, tool, **arguments) for tool, arguments in wanted]

    return talk(server, each, mode)


def served(memory: Memory, **serving: Any) -> Any:
    return memory_server(memory, Serving(**serving))


def remember(text: str, thread: str = "t", **more: Any) -> tuple[str, dict[str, Any]]:
    return "remember", {"text": text, "thread": thread, **more}


def rules_of(memory: Memory, thread: ThreadKey | str = "t") -> list[str]:
    state = memory.last_state(thread)
    return [item.words.text for item in state.constraints] if state else []


def stored(memory: Memory, thread: ThreadKey | str = "t") -> list[str]:
    """Every text of the thread's main branch that was committed."""
    return [each.message.text for each in memory.journal.messages(thread) if each.digest]


def advertised(tools: Any) -> int:
    """Tokens that the tools cost in the context of every request of the client's model."""
    told = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in told]
    return sum(utf8_quarter(json.dumps(tool)) for tool in shown)
