"""A load on the deployed workers: what is lost, doubled or mixed up, and how workers add up.

    python benchmarks/load.py [--workers 4] [--threads 200] [--turns 20] [--json]

It starts the services of `deploy/` as processes of this machine: a Chroma server, a PostgreSQL for the
checkpoints, and workers of the ReAct graph with the keyless compressor. Conversations of several tenants
under the same names are served turn by turn, each turn by a random worker. The first run has one worker,
the second all of them. In the third run a worker, the Chroma server and PostgreSQL are killed (-9) and
started again, one after the other; a client that gets no answer sends its message again, to any worker.
The last turn of each conversation comes when all are back. Then everything is ended, and the store, the
audit logs (``acc verify``) and the answers are compared with what was said. The script exits with 1 if
anything was lost, doubled or leaked, or failed for good.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services import Deployment, Service, restarted

from acc.audit.log import AuditLog
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import Artifact, Thread

TENANTS = 3
CLIENTS = 16
"""Conversations that wait for an answer at one time."""

DOWN = 4.0
"""Seconds that a killed service stays away: longer than the workers' own retries."""

PATIENCE = 120.0
"""Seconds after which a client gives a message up."""

MARK = re.compile(r"ward-\d{4}")


@dataclass(frozen=True)
class Conversation:
    """What one user says, with a mark that no other conversation has."""

    number: int
    turns: int

    @property
    def mark(self) -> str:
        """The word in everything that this user says."""
        return f"ward-{self.number:04}"

    @property
    def place(self) -> str:
        """Tenant, user and thread; users and threads have the same names in every tenant."""
        name = self.number // TENANTS
        return f"clinic-{self.number % TENANTS}/user-{name % 2}/thread-{name}"

    @property
    def thread(self) -> Thread:
        """The memory's thread."""
        tenant, user, _ = self.place.split("/")
        return Thread(tenant=tenant, user=user, thread=self.place)

    def said(self, turn: int) -> str:
        """What the user says in ``turn``, the first of which is 0."""
        if turn == 0:
            return f"Never restart {self.mark}."
        if turn == self.turns - 1:
            return f"Get {self.mark} moving, {turn}."
        return f"What has changed in {self.mark} by hour {turn}?"


@dataclass
class Clients:
    """The users: they send each message until a worker answers it.

    Attributes:
        failed: Messages that were given up, with the last error.
        errors: The answers that were none, counted.
        served: Number of turns that were answered.
    """

    workers: Sequence[Service]
    failed: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    served: int = 0
    answers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def converse(self, one: Conversation, turns: range) -> None:
        """Say what follows in ``turns``, each message to a random worker."""
        rng = random.Random(one.number)
        got = self.answers.setdefault(one.number, [])
        for turn in turns:
            answer = self._answered(one, turn, rng)
            if answer is None:
                return
            got.append(answer)
            self.served += 1

    def _answered(self, one: Conversation, turn: int, rng: random.Random) -> dict[str, Any] | None:
        end = time.monotonic() + PATIENCE
        body = {"id": f"{one.mark}-{turn}", "text": one.said(turn)}
        while True:
            worker = rng.choice(self.workers)
            request = urllib.request.Request(
                f"http://127.0.0.1:{worker.port}/{one.place}", json.dumps(body).encode()
            )
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                    found: dict[str, Any] = json.load(answer)
                return found
            except urllib.error.HTTPError as error:
                after = float(error.headers.get("Retry-After") or 0)
                told = f"{error.code} {error.read().decode()}"
                kind = f"{error.code} {json.loads(told[4:]).get('error')}"
            except (OSError, ValueError) as error:  # the worker was killed
                after, told = 0.5, f"{type(error).__name__}: {error}"
                kind = "no connection"
            self.errors[kind] += 1
            if not after or time.monotonic() + after > end:
                self.failed.append(f"{one.place}, turn {turn}: {told}")
                return None
            time.sleep(after * rng.uniform(0.5, 1.0))


def run(
    folder: Path, workers: int, threads: int, turns: int, rounds: int, containers: bool
) -> dict[str, Any]:
    """Serve all conversations, kill every service ``rounds`` times, and compare what is stored with what was said."""
    spoken = [Conversation(number, turns) for number in range(threads)]
    deployment = Deployment(folder, workers, containers=containers)
    with deployment.running():
        clients = Clients(deployment.workers)
        events: list[dict[str, Any]] = []
        over = threading.Event()
        killer = threading.Thread(
            target=_kill, args=(deployment, clients, threads * (turns - 1), rounds, over, events)
        )
        start = time.monotonic()
        killer.start()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda one: clients.converse(one, range(turns - 1)), spoken))
            seconds = time.monotonic() - start
            over.set()
            killer.join()
            # An answer that a store was not there for is stored with the turn after it.
            last = [one for one in spoken if len(clients.answers[one.number]) == turns - 1]
            list(pool.map(lambda one: clients.converse(one, range(turns - 1, turns)), last))
    return {
        "workers": workers, "threads": threads, "turns": turns, "served": clients.served,
        "seconds": round(seconds, 1),
        "turns_per_second": round(min(clients.served, threads * (turns - 1)) / seconds, 2),
        "errors": dict(clients.errors), "failed": clients.failed, "killed": events,
        **compared(deployment.memory, spoken, clients),
    }  # fmt: skip


def _kill(
    deployment: Deployment, clients: Clients, total: int, rounds: int, over: threading.Event,
    events: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Kill one service after another, at equal shares of the turns."""
    services = [
        service
        for n in range(rounds)
        for service in (deployment.workers[n % len(deployment.workers)], deployment.chroma, deployment.postgresql)
    ]  # fmt: skip
    for place, service in enumerate(services, 1):
        while clients.served < total * place / (len(services) + 1):
            if over.wait(0.05):
                return
        events.append({"after_turns": clients.served, **restarted(service, DOWN)})


def compared(memory: Path, spoken: Sequence[Conversation], clients: Clients) -> dict[str, Any]:
    """Return what is lost, doubled, leaked or forked, and what ``acc verify`` says. The services have ended."""
    found: dict[str, list[str]] = {"lost": [], "doubled": [], "leaked": [], "forked": []}
    with closing(ChromaArtifactStore.embedded(memory)) as store:
        for one in spoken:
            who = one.thread
            records = store.get(who.tenant, store.ids(who.tenant, thread=who.key))
            entries = list(AuditLog.of(memory / "audit", who).records())
            answers = clients.answers.get(one.number, [])
            for kind, what in faults(one, records, entries, answers):
                found[kind].append(f"{one.place}: {what}")
    command = [sys.executable, "-m", "acc", "verify", "--memory", str(memory), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    verified = json.loads(done.stdout) if done.returncode == 0 else []
    return {
        **found,
        "commits": sum(log["commits"] for log in verified),
        "verify": done.returncode,
        "verify_says": done.stderr[-2_000:],
    }


def faults(
    one: Conversation, records: Sequence[Artifact], entries: Sequence[Any],
    answers: Sequence[dict[str, Any]],
) -> list[tuple[str, str]]:  # fmt: skip
    """Return kind and description of whatever is wrong with one conversation."""
    wrong: list[tuple[str, str]] = []
    heard = [a for a in records if a.kind == "observation"]
    users = Counter(a.text for a in heard if a.channel == "user")
    said = [one.said(turn) for turn in range(len(answers))]
    wrong += [("lost", f"not in the store: {text}") for text in said if not users[text]]
    wrong += [("doubled", f"{text} x{n}") for text, n in users.items() if n > 1]
    # Words and answer of a turn, and in all turns but the first and the last a call and its result.
    if len(answers) == one.turns and len(heard) != (expected := 4 * (one.turns - 1)):
        wrong.append(("doubled" if len(heard) > expected else "lost", f"{len(heard)} observations"))
    states = [entry["state"] for entry in entries]
    places = Counter((state["branch"], state["turn"]) for state in states)
    wrong += [("doubled", f"commit of {place} x{n}") for place, n in places.items() if n > 1]
    wrong += [("forked", str(branch)) for branch, _ in places if branch != "main"]
    hashes = {state["hash"] for state in states}
    wrong += [
        ("lost", f"no record of the state of turn {turn}")
        for turn, answer in enumerate(answers)
        if answer["hash"] not in hashes
    ]
    if (
        answers
        and states
        and [c["text"] for c in states[-1]["constraints"]] != [f"Never restart {one.mark}"]
    ):
        wrong.append(("lost", "the rule"))
    if len(answers) == one.turns and one.mark not in answers[-1]["answer"]:
        wrong.append(("lost", f"the agent does not know the rule: {answers[-1]['answer']}"))
    texts = [a.text for a in records] + [json.dumps(e) for e in entries]
    seen = set(MARK.findall(" ".join([*texts, *(str(a["answer"]) for a in answers)])))
    wrong += [("leaked", mark) for mark in sorted(seen - {one.mark})]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1, help="kills of each service")
    parser.add_argument(
        "--containers", action="store_true", help="workers that do not see each other's processes"
    )
    parser.add_argument("--faults-only", action="store_true", help="only the run with the kills")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what it started ends with it
    plan = {"one worker": (1, 0), "all workers": (given.workers, 0)}
    if given.faults_only:
        plan = {}
    plan["all workers, killed"] = (given.workers, given.rounds)
    results: dict[str, Any] = {}
    for name, (workers, rounds) in plan.items():
        with tempfile.TemporaryDirectory(prefix="load-") as folder:
            sizes = workers, given.threads, given.turns, rounds
            results[name] = run(Path(folder), *sizes, given.containers)
        if not given.json:
            print(name, json.dumps(results[name], indent=1), flush=True)
    if not given.faults_only:
        one, several = results["one worker"], results["all workers"]
        results["ratio"] = round(several["turns_per_second"] / one["turns_per_second"], 2)
    if given.json:
        print(json.dumps(results))
    else:
        print("ratio", results.get("ratio"))
    kinds = ("lost", "doubled", "leaked", "forked", "failed", "verify")
    return int(any(r[kind] for r in results.values() if isinstance(r, dict) for kind in kinds))


if __name__ == "__main__":
    sys.exit(main())
