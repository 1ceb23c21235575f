"""What a node makes the model's prompt of: the role, the state, and the current turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, SystemMessage

from acc.integrations.graph_channels import check_messages, needed, read
from acc.integrations.messages import as_messages, role_and_rest

if TYPE_CHECKING:
    from acc.integrations.langgraph import MemoryNode


def prompting(node: MemoryNode, role: str) -> Callable[[Mapping[str, Any]], list[BaseMessage]]:
    """What `MemoryNode.prompt` documents, of the channels of ``node``."""

    def there(channel: str, value: Any) -> Any:
        return needed(channel, value, where=node.name, what="from which the prompt is made")

    def prompt(state: Mapping[str, Any]) -> list[BaseMessage]:
        shown = node.output_messages_key or node.input_messages_key
        found = as_messages(there(shown, read(state, shown)))
        check_messages(found, shown)
        ccs = there(node.state_key, node.loaded(state))
        own, turn = role_and_rest(found)
        carried = [] if node.output_messages_key else [node.held.rendered(ccs)]
        return [SystemMessage(joined(role, *texts(own), *carried)), *turn]

    return prompt


def texts(messages: Iterable[BaseMessage]) -> list[str]:
    """What each of ``messages`` says."""
    return [str(message.text) for message in messages]


def joined(*parts: str) -> str:
    """``parts`` as one text, a blank line between them; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
