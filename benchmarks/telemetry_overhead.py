"""What OpenTelemetry costs a step: the part of a step's CPU time that is spent in it.

    python benchmarks/telemetry_overhead.py [--turns 300]

A memory in a folder steps with the keyless compressor, and hands spans and metrics to OpenTelemetry's SDK, which
exports each span at once, on the same thread. CPU time is measured: the disk and other programs do not count.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from workload import observed

from acc.controller.controller import MemoryController
from acc.state.model import CompressedCognitiveState
from acc.telemetry import OpenTelemetry

WARM_UP = 20
"""Turns before the measured ones: imports, caches, and the tables of the store."""


class Timed:
    """Passes calls on to an observer, and adds up the CPU time that they take."""

    def __init__(self, observer: Any, spent: list[float]) -> None:
        self._observer, self._spent = observer, spent

    def begins(self, *about: Any) -> Timed:
        """The observer of one step, timed too."""
        self._spent.append(0.0)
        return Timed(self._timed("begins", *about), self._spent)

    def stage_begins(self, *about: Any) -> None:
        """Timed."""
        self._timed("stage_begins", *about)

    def stage_ends(self, *about: Any) -> None:
        """Timed."""
        self._timed("stage_ends", *about)

    def ends(self, *about: Any) -> None:
        """Timed."""
        self._timed("ends", *about)

    def _timed(self, call: str, *about: Any) -> Any:
        start = time.thread_time()
        found = getattr(self._observer, call)(*about)
        self._spent[-1] += time.thread_time() - start
        return found


def measured(turns: int) -> dict[str, Any]:
    """Return the medians of a step and of its telemetry, and of the part that this is."""
    tracers, meters = TracerProvider(), MeterProvider([InMemoryMetricReader()])
    tracers.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    spent: list[float] = []
    whole: list[float] = []
    state: CompressedCognitiveState | None = None
    observer = Timed(OpenTelemetry(tracers, meters), spent)
    memory: MemoryController[CompressedCognitiveState]
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, telemetry=observer) as memory,
    ):
        for number in range(1, WARM_UP + turns + 1):
            turn = observed(number, random.Random(number))
            start = time.process_time()
            state = memory.step(state, turn, thread="t").state
            whole.append(time.process_time() - start)
    both = list(zip(spent, whole, strict=True))[WARM_UP:]
    return {
        "turns": turns,
        "step_ms": round(1000 * statistics.median(step for _, step in both), 2),
        "telemetry_ms": round(1000 * statistics.median(own for own, _ in both), 3),
        "overhead": round(statistics.median(own / (step - own) for own, step in both), 4),
    }


def main() -> None:
    """Run it and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(options.turns)
    told = "\n".join(f"{name:14} {value}" for name, value in found.items())
    print(json.dumps(found) if options.json else told)


if __name__ == "__main__":
    main()
