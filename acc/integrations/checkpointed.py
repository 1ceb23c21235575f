"""Read the states that graphs left in LangGraph's checkpointers: what ``acc adopt`` goes on from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from acc.errors import ConfigurationError, StoreError
from acc.evidence.checkpoints import checkpointer_at, without_password


class Checkpointed(NamedTuple):
    """The state in a conversation's newest checkpoint."""

    conversation: str
    state: Mapping[str, Any]


def newest_states(url: str, conversations: Sequence[str], key: str) -> Iterator[Checkpointed]:
    """Yield the state in the newest checkpoint of each conversation that has one.

    Args:
        url: ``sqlite:PATH`` or ``postgresql://...``.
        conversations: Names of threads, as the checkpointer knows them.
        key: The channel of the state.

    Raises:
        ConfigurationError: There is no such database, or its checkpointer is not installed.
        StoreError: The database cannot be read.
    """
    checkpointer_at(url)
    try:
        with _saver(url) as saver:
            for name in conversations:
                found = saver.get_tuple({"configurable": {"thread_id": name, "checkpoint_ns": ""}})
                state = found.checkpoint["channel_values"].get(key) if found is not None else None
                if isinstance(state, Mapping):
                    yield Checkpointed(name, state)
    except ImportError as error:
        raise ConfigurationError(
            f"the checkpointer cannot be imported: {error}",
            where=without_password(url),
            hint="pip install 'agent-cognitive-compressor[sqlite]' or [postgres]",
        ) from error
    except Exception as error:
        raise StoreError(
            f"the checkpoints cannot be read: {type(error).__name__}",
            where=without_password(url),
            hint="check the address; the tables are those of LangGraph's checkpointer",
        ) from error


def _saver(url: str) -> AbstractContextManager[Any]:
    if url.startswith("sqlite:"):
        from langgraph.checkpoint.sqlite import SqliteSaver

        return SqliteSaver.from_conn_string(url.removeprefix("sqlite:"))
    from langgraph.checkpoint.postgres import PostgresSaver

    return PostgresSaver.from_conn_string(url)
