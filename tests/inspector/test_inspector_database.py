"""The inspector over audit logs in a real PostgreSQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspected import HOME, SAID, looking_at
from starlette.testclient import TestClient

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.audit.postgres import PostgresLogs
from acc.inspector.logs import Logs
from acc.inspector.server import application

sys.path.append(str(Path(__file__).parents[1] / "graphs"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    from servers import postgresql

    with postgresql() as found:
        yield found


def test_a_fleets_threads_are_read_and_followed_from_the_database(address: str) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=address)) as memory:
        state = None
        for words in SAID:
            state = memory.step(state, Turn.said(words), thread="ops").state
        memory.step(None, Turn.said("Hello."), thread="other")
        logs = Logs(address)
        assert isinstance(logs.store, PostgresLogs)
        ends = logs.ends()
        assert ends == {name: logs.store.end(name) for name in logs.store.names()}
        row = next(row for row in logs.threads() if row["thread"] == "ops")
        assert row["turn"] == 3
        assert len(logs.index(row["log"]).entries) == 3
        memory.step(state, Turn.said("Is node-9 ready?"), thread="ops")
        assert [name for name, end in logs.ends().items() if ends[name] != end] == [row["log"]]
        assert len(logs.index(row["log"]).entries) == 4
        client = TestClient(application(looking_at(address)), base_url=HOME)
        asked = {"log": row["log"], "position": 3, "ref": "u1"}
        assert client.get("/api/source", params=asked).json()["text"] == SAID[0]
        assert client.get("/api/turn", params=asked).json()["sound"]
        logs.store.close()
