"""Where the reference graphs run: which model, which memory, which checkpointer.

One process needs a folder and a file. Several processes share the journal, in a folder or in PostgreSQL, a Chroma
server, and a PostgreSQL for the checkpoints. The servers read the settings from the environment:

    ACC_MODEL        provider:model; unset, the scripted model of the example
    ACC_MEMORY       the memory's folder, which the workers of one machine share, or postgresql://... for several
                     machines; ./memory if unset
    ACC_CHROMA       the http address of a Chroma server; unset, Chroma is embedded in the folder, for one process
    ACC_CHECKPOINTS  postgresql://..., or a file; under ``langgraph dev`` the server brings its own
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from acc.controller.controller import MemoryController
from acc.errors import ConfigurationError, ConflictError, StoreUnavailableError
from acc.integrations.evidence_tool import evidence_tool
from acc.integrations.langgraph import MemoryNode
from acc.journal.opened import is_url
from acc.testing.chat_model import ScriptedChatModel

Memory = MemoryController[Any]

Decide = Callable[[list[BaseMessage]], AIMessage]
"""What a scripted model does with its prompt."""


def chat_model(model: BaseChatModel | str) -> BaseChatModel:
    """A chat model, by its name if need be.

    Raises:
        ConfigurationError: No such provider, or its package or key is missing.
    """
    if not isinstance(model, str):
        return model
    try:
        from langchain.chat_models import init_chat_model

        made: BaseChatModel = init_chat_model(model)
    except Exception as error:  # each provider raises what it likes
        raise ConfigurationError(
            f"no chat model {model!r}: {str(error).splitlines()[0]}",
            where="model",
            hint="name it provider:model, install the extra langchain and the provider's "
            "package, and set its key",
        ) from error
    return made


def opening_evidence(node: MemoryNode) -> BaseTool:
    """Return the tool that opens evidence of the memory of ``node``."""
    return evidence_tool(node.controller, state_key=node.state_key, identity=node.identity)


def open_memory(where: str, chroma: str = "", **settings: Any) -> Memory:
    """Open a memory that processes may share; what they share should have a Chroma server.

    Args:
        where: The folder with the journal; or ``postgresql://...``, for several machines.
        chroma: Address of a Chroma server, ``http://host:8000``; empty to embed Chroma in the folder, or, with a
            journal in PostgreSQL, to recall by words alone.
        settings: As `MemoryController.open` takes them: ``policy``, ``model`` and so on.

    Raises:
        ConfigurationError: An address without a host.
        StoreError: It cannot be opened or reached.
    """
    if chroma:
        settings = {"store": chroma, **settings}
    elif is_url(where):
        settings = {"index": "none", **settings}
    return MemoryController.open(where, **settings)


@contextmanager
def open_checkpoints(where: str) -> Iterator[BaseCheckpointSaver[Any]]:
    """A checkpointer: a PostgreSQL for several processes, or a SQLite file for one.

    Its tables are made by `prepare`, once, before the processes start.

    Args:
        where: ``postgresql://...``, or the file.

    Raises:
        ConfigurationError: Its extra (``postgres``, ``sqlite``) is not installed.
        StoreUnavailableError: The PostgreSQL cannot be reached.
    """
    if where.startswith(("postgresql://", "postgres://")):
        with _extra("postgres"):
            from langgraph.checkpoint.postgres import PostgresSaver
            from psycopg.rows import dict_row
            from psycopg_pool import ConnectionPool, PoolTimeout

        # One connection would end with the server; the pool replaces those that a restart has cut.
        pool: ConnectionPool[Any] = ConnectionPool(
            where, min_size=1, max_size=4, timeout=10, check=ConnectionPool.check_connection,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            open=False,
        )  # fmt: skip
        with pool:
            try:
                pool.wait(timeout=10)
            except PoolTimeout as error:
                raise StoreUnavailableError(
                    "PostgreSQL cannot be reached, or refuses the user",
                    where=str(urlsplit(where).hostname),
                    hint="start it, and set the password: PGPASSWORD, or in the address",
                ) from error
            yield PostgresSaver(pool)
    else:
        with _extra("sqlite"):
            from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(where) as file:
            yield file


@contextmanager
def _extra(name: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            f"the checkpointer cannot be imported: {error}",
            where="checkpoints",
            hint=f"pip install 'agent-cognitive-compressor[{name}]'",
        ) from error


class TurnLocks:
    """One lock for each conversation, which all workers on one PostgreSQL share.

    A worker holds its locks by one connection: PostgreSQL frees them when the worker dies, within 20 seconds if its
    host does. With another checkpointer there is one worker, and no lock.

    Args:
        saver: The checkpointer, as `open_checkpoints` yields it.
    """

    _ALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2"

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self._address: Any = getattr(getattr(saver, "conn", None), "conninfo", None)
        self._guard = threading.Lock()
        self._connection: Any = None

    @contextmanager
    def held(self, place: str) -> Iterator[None]:
        """Hold the lock of a conversation.

        Raises:
            ConflictError: Another worker holds it.
        """
        if self._address is None:
            yield
            return
        import psycopg

        if not self._ask("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", place):
            raise ConflictError(
                "another worker runs a turn of this thread", where=place,
                hint="send the message again until it is answered",
            )  # fmt: skip
        try:
            yield
        finally:
            with suppress(psycopg.OperationalError):  # a server that is away holds no lock
                self._ask("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", place)

    def close(self) -> None:
        """Free all locks; a later turn connects again."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def _ask(self, query: str, place: str) -> bool:
        """Return the answer of the database; once more by a new connection if the server had ended the first."""
        import psycopg

        with self._guard:
            if self._connection is not None and not self._connection.closed:
                with suppress(psycopg.OperationalError):
                    return bool(self._connection.execute(query, (place,)).fetchone()[0])
                self._connection.close()
            connection: Any = psycopg.connect(
                self._address, autocommit=True, options=self._ALIVE, prepare_threshold=None
            )
            self._connection = connection
            return bool(connection.execute(query, (place,)).fetchone()[0])


def prepare(where: str) -> None:
    """Make the checkpointer's tables: once, and not by several processes at the same time."""
    with open_checkpoints(where) as saver:
        setup: Any = saver
        setup.setup()


@contextmanager
def deployed(
    memory: str, checkpoints: str, chroma: str = "", **settings: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield all settings at once, as what ``build`` takes: ``build(model, tools, **parts, role=...)``."""
    with (
        closing(open_memory(memory, chroma, **settings)) as opened,
        open_checkpoints(checkpoints) as saver,
    ):
        yield {"memory": opened, "checkpointer": saver}


def served_model(decide: Decide) -> BaseChatModel:
    """Return the model that ACC_MODEL names, or the scripted one."""
    named = os.environ.get("ACC_MODEL", "")
    return chat_model(named) if named else ScriptedChatModel(script=decide)


async def served_memory(name: str, **settings: Any) -> Memory:
    """Return a memory of this server's process, opened at the first request and off its event loop.

    Args:
        name: Of the graph: each has a folder of its own below ACC_MEMORY; in PostgreSQL they share the journal.
        settings: As `MemoryController.open` takes them.
    """
    where = os.environ.get("ACC_MEMORY", "memory")
    return await asyncio.to_thread(_process_memory, where, name, settings)


_OPENED: dict[str, Memory] = {}
_OPENING = threading.Lock()


def _process_memory(where: str, name: str, settings: Mapping[str, Any]) -> Memory:
    with _OPENING:  # two first requests at once: an embedded Chroma opens once
        if name not in _OPENED:
            chroma = os.environ.get("ACC_CHROMA", "")
            place = where if is_url(where) else str(Path(where) / name)
            opened = open_memory(place, chroma, **settings)
            atexit.register(opened.close)
            _OPENED[name] = opened
        return _OPENED[name]
