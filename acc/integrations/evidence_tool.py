"""A tool for the agent that reads the whole text behind a reference that it reads, within a limit."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime

from acc.board.memory import Controller
from acc.errors import ConfigurationError
from acc.integrations.graph_channels import read
from acc.integrations.identity import Identify, Identity, owner
from acc.integrations.messages import as_messages
from acc.integrations.notes import Notes, notes_key
from acc.integrations.sharing import Share, Sharing
from acc.integrations.voices import EVIDENCE_TOOL


def evidence_tool(
    memory: Controller,
    *,
    state_key: str = "ccs",
    run_key: str = "ccs_run",
    identity: Identify | None = None,
    share: Share | None = None,
    most: int = 4_000,
    name: str = EVIDENCE_TOOL,
) -> BaseTool:
    """Build the tool for `ToolNode`, `create_agent` and `create_react_agent`.

    It opens what the thread's own branch saw, and what a board rests on that the agent shares. Its result counts as a
    document, because opening evidence must not raise its trust.

    Args:
        memory: Either controller.
        state_key: Channel of the state. If the tools' node does not see it, the tool reads the thread's main branch.
        run_key: Channel of the notes, as configured on the memory's node.
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
    identify, key = identity or Identity(), notes_key(memory)
    sharing = Sharing(memory, share, "", identify) if share is not None else None

    def open_evidence(
        ref: Annotated[str, "a reference as it was shown, such as t7.1"],
        runtime: ToolRuntime[Any, Any],
        start: Annotated[int, "characters to skip; 0 at first"] = 0,
    ) -> str:
        noted = read(runtime.state, run_key) or read(runtime.state, "ccs_run")
        messages = as_messages(read(runtime.state, "messages") or ())
        thread = owner(runtime.config, identify, Notes.load(noted, key).thread, messages).thread
        raw = read(runtime.state, state_key)
        branch = memory.policy.schema.load(raw).branch if raw else "main"
        texts = [message.text for message in memory.journal.texts(thread, [ref], branch=branch)]
        if not texts and sharing is not None:
            texts = [sharing.of_run(runtime.config, thread).evidence(ref)]
        if not any(texts):
            raise ToolException(f"There is no evidence {ref!r}. Use a ref that you read.")
        first, text = max(0, start), texts[0]
        left = len(text) - first - most
        more = f"\n[{left} more characters: start={first + most}]" if left > 0 else ""
        return text[first : first + most] + more

    # An asynchronous agent runs it in a thread.
    return StructuredTool.from_function(
        open_evidence,
        name=name,
        description="Read the whole text behind a reference that you read in your memory or a shortened result.",
        handle_tool_error=True,
    )
