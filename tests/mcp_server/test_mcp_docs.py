"""docs/mcp.md: the configurations of clients start a server that works, and the tools are those it lists."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import call, memory_in, served, talk
from mcp import Client, StdioServerParameters
from typer.main import get_command

from acc.cli import COMMANDS, app
from acc.cli.mcp import SpeaksFor, mcp
from acc.mcp_server.answers import MOST_TOKENS

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
JSON = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S)]


def _servers() -> Iterator[dict[str, Any]]:
    for block in JSON:
        (servers,) = block.values()
        yield from servers.values()


STARTED = [server for server in _servers() if "args" in server]
SHELL = re.findall(r"^(?:\w+=.* )?acc (mcp .*?)(?: +#.*)?$", PAGE, re.M)
SHELL += re.findall(r"`(?:claude .* -- )?acc (mcp -[^`]*)`", PAGE)


def parsed(arguments: list[str]) -> dict[str, Any]:
    """The options of a command line, as `acc mcp` reads them; nothing runs."""
    group: Any = get_command(app)
    command = group.get_command(group.make_context("acc", ["threads"]), arguments[0])
    return dict(command.make_context("mcp", list(arguments[1:])).params)


def test_the_page_configures_the_common_clients() -> None:
    assert len(STARTED) == 2
    assert any(server.get("url") == "http://127.0.0.1:8765/mcp" for server in _servers())
    assert len(SHELL) >= 3
    assert parsed(["mcp"])["port"] == 8765


@pytest.mark.parametrize("server", STARTED, ids=lambda server: " ".join(server["args"]))
def test_each_configuration_has_options_that_exist(server: dict[str, Any]) -> None:
    assert server["command"] == "acc"
    assert server["args"][0] == "mcp"
    read = parsed(server["args"])
    assert read["thread"] == "my-project"
    assert read["memory"].name == "memory"


@pytest.mark.parametrize("line", SHELL)
def test_each_command_line_has_options_that_exist(line: str) -> None:
    assert parsed(line.split())["speaks_for"] == "agent"


@pytest.mark.slow
@pytest.mark.parametrize("server", STARTED, ids=lambda server: " ".join(server["args"]))
def test_a_client_with_the_configuration_gets_a_memory(
    server: dict[str, Any], tmp_path: Path
) -> None:
    arguments = [str(tmp_path / "m") if "/memory" in each else each for each in server["args"]]
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "acc", *arguments], env=dict(os.environ)
    )

    async def conversation() -> str:
        async with Client(parameters) as client:
            await call(client, "remember", text="Lotte is on call.")
            return await call(client, "read_state")

    assert "thread 'my-project', after turn 1" in asyncio.run(conversation())


def test_the_page_lists_the_tools_and_their_arguments(tmp_path: Path) -> None:
    tools = talk(served(memory_in(tmp_path), may_forget=True), Client.list_tools).tools
    told = dict(re.findall(r"^\| `(\w+)\(([\w, ]+)\)` \|", PAGE, re.M))
    assert told == {tool.name: ", ".join(tool.input_schema["properties"]) for tool in tools}
    assert f"at most {MOST_TOKENS:,} tokens in all" in PAGE


def test_the_page_says_what_each_channel_means() -> None:
    rows = re.findall(r"^\| `(user|agent|tool|document)`(?: \(default\))? \|", PAGE, re.M)
    assert sorted(rows) == sorted(SpeaksFor.__args__)  # type: ignore[attr-defined]
    assert parsed(["mcp"])["speaks_for"] == "agent"
    assert COMMANDS["mcp"][1] == (mcp.__doc__ or "").splitlines()[0]
