"""Worker processes that share threads: any of them serves any turn.

They share the memory's folder. What changes against one process are two settings, the addresses of a Chroma server
and of a PostgreSQL with the checkpoints:

    python examples/08_many_workers.py memory postgresql://acc@127.0.0.1/acc http://127.0.0.1:8000

Without them it starts a Chroma server of its own on the loopback, and checkpoints in a SQLite file,
which serves workers on one machine that take turns, as these do.
"""

import multiprocessing
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from acc.artifacts.chroma import ChromaStore
from acc.errors import StoreError
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs import triage
from acc_graphs.deployment import deployed, open_memory, prepare
from acc_graphs.react import build

ASKED = (
    "Never restart a pipeline during clinic hours. Which jobs are affected?",
    "What has changed since then?",
    "The wards are waiting. Get it moving.",
)

_OPENED = ExitStack()
_WORKER: dict[str, Any] = {}


def begin(memory: str, checkpoints: str, chroma: str) -> None:
    """What each worker does once: open both, and build the graph."""
    parts = _OPENED.enter_context(deployed(memory, checkpoints, chroma))
    _WORKER["graph"] = build(
        ScriptedChatModel(script=triage.decide), triage.Clinic().tools(), **parts,
        role=triage.ROLE, channels=triage.CHANNELS,
    )  # fmt: skip


def serve(thread: str, said: str) -> dict[str, Any]:
    """One turn of one thread, in whichever worker it comes to."""
    config = {"configurable": {"thread_id": thread}}
    out = _WORKER["graph"].invoke({"messages": [("user", said)]}, config)
    return {"answer": out["messages"][-1].text}


def answers(port: int) -> None:
    """Return once the server answers."""
    for _ in range(120):
        try:
            ChromaStore.server(f"http://127.0.0.1:{port}").close()
        except StoreError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit("the Chroma server does not answer")


@contextmanager
def own_servers() -> Iterator[tuple[str, str, str]]:
    """A folder, a SQLite file and a Chroma server, for as long as the example runs."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        chroma = str(Path(sys.executable).with_name("chroma"))
        command = [
            chroma,
            "run",
            "--path",
            f"{folder}/chroma",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            answers(port)
            place = Path(folder)
            yield (
                str(place / "memory"),
                str(place / "checkpoints.sqlite"),
                f"http://127.0.0.1:{port}",
            )
        finally:
            server.terminate()
            server.wait()


def main(memory: str, checkpoints: str, chroma: str) -> None:
    """Three turns of three threads, over two workers, each turn in another one than the last."""
    prepare(checkpoints)
    context = multiprocessing.get_context("spawn")
    pools = [
        ProcessPoolExecutor(1, context, initializer=begin, initargs=(memory, checkpoints, chroma))
        for _ in range(2)
    ]
    threads = [f"ward-{n}" for n in range(3)]
    for turn, said in enumerate(ASKED):
        served = {t: pools[(n + turn) % 2].submit(serve, t, said) for n, t in enumerate(threads)}
        ended = {thread: future.result() for thread, future in served.items()}
    for pool in pools:
        pool.shutdown()
    with closing(open_memory(memory, chroma)) as opened:
        for thread, out in ended.items():
            head = opened.journal.head(thread)
            print(f"{thread}: version {head.version} of {head.branch}: {out['answer']}")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(*sys.argv[1:])
    else:
        with own_servers() as addresses:
            main(*addresses)
