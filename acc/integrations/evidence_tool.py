"""A tool for the agent that reads the evidence behind a reference in its state, within a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime

from acc.board import Board
from acc.errors import ConfigurationError, InputError
from acc.integrations.compaction import AGENT
from acc.integrations.graph_channels import bound_to, read
from acc.integrations.identity import Identify, Identity, owner
from acc.integrations.messages import EVIDENCE_TOOL, as_messages
from acc.integrations.sharing import Share, Sharing
from acc.integrations.stepping import Controller
from acc.stores.protocol import Thread


def evidence_tool(
    memory: Controller,
    *,
    state_key: str = "ccs",
    turn_key: str = "ccs_turn",
    identity: Identify | None = None,
    share: Share | Board | None = None,
    most: int = 4_000,
    name: str = EVIDENCE_TOOL,
) -> BaseTool:
    """Build the tool for `ToolNode`, `create_agent` and `create_react_agent`.

    It opens only evidence on the thread's own branch, documents that the thread may see, and what a board
    rests on that the agent shares. Its result counts as a document, because opening evidence must not raise its trust.

    Args:
        memory: Either controller.
        state_key: Channel of the state. If the tools' node does not see it, the tool uses the
            thread's last state in the audit log.
        turn_key: Channel of the commit progress, as configured on the memory's node.
        identity: As configured on the memory's node.
        share: As configured on the memory's node. Without it no ref of a board is opened.
        most: Limit of characters per call; the agent reads on with ``start``.
        name: Name of the tool. For another name, configure ``channels={name: Channel.DOCUMENT}``.

    Raises:
        ConfigurationError: ``most`` is below 1, or the memory cannot keep the board.
    """
    if most < 1:
        raise ConfigurationError(
            f"a tool that shows {most} characters", where="most", hint="give at least 1"
        )
    whose_memory = identity or Identity()
    sharing = Sharing(memory, share) if share is not None else None

    def open_evidence(
        ref: Annotated[str, "a reference from the state, such as t7.1"],
        runtime: ToolRuntime[Any, Any],
        start: Annotated[int, "characters to skip; 0 at first"] = 0,
    ) -> str:
        thread = _thread(runtime, whose_memory, (turn_key, "ccs_run"), state_key)
        raw = read(runtime.state, state_key)
        prior = memory.load(raw) if raw is not None else memory.last_state(thread)
        if prior is None:
            raise ToolException("Nothing is stored yet.")
        shared = sharing.of_run(runtime.config, whose_memory, thread) if sharing else None
        board = shared.board if shared is not None else None
        try:
            text = memory.open_evidence(ref, prior, thread=thread, board=board)
        except InputError as error:
            raise ToolException(f"There is no evidence {ref!r}. Use a ref of the state.") from error
        return _shown(text, max(0, start), most)

    # An asynchronous agent runs it in a thread.
    return StructuredTool.from_function(
        open_evidence,
        name=name,
        description="Read the whole text of the evidence that a reference in your state names.",
        handle_tool_error=True,
    )


def _thread(
    runtime: ToolRuntime[Any, Any], identify: Identify, notes: Sequence[str], state_key: str
) -> Thread:
    """Return the thread of the calling agent; one of the ``notes`` channels names the agent."""
    noted = (read(runtime.state, key) for key in notes)
    found = next((n for n in noted if isinstance(n, Mapping)), {})
    return owner(
        runtime.config,
        identify,
        agent=found.get(AGENT),
        messages=as_messages(read(runtime.state, "messages") or ()),
        bound_to=bound_to(read(runtime.state, state_key)),
    )


def _shown(text: str, start: int, most: int) -> str:
    left = len(text) - start - most
    more = f"\n[{left} more characters: start={start + most}]" if left > 0 else ""
    return text[start : start + most] + more
