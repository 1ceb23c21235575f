"""The live evaluation: runs every scenario with every seed, with one call log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, NamedTuple

from acc.compress.asking import Patience
from acc.compress.endpoint import Endpoint
from acc.errors import ConfigurationError, EvaluationError
from acc.evaluation.judge import judging as prompts
from acc.evaluation.judge.calls import CallLog
from acc.evaluation.judge.episode import REPLY_CHARS, Agent, Episode, Stopped
from acc.evaluation.judge.judging import Judge, JudgeSettings
from acc.evaluation.judge.measures import RunOutcome
from acc.evaluation.judge.spending import Budget, LoggedEndpoint, Place, Spending, count_logged
from acc.evaluation.memories.specs import MemorySpec
from acc.evaluation.scenarios import Scenario
from acc.text.lines import canonical_json
from acc.text.tokens import TokenCounter, utf8_quarter

ROLES = ("agent", "compressor", "judge")


@dataclass(frozen=True)
class Live:
    """The setup of a live evaluation.

    Attributes:
        scenarios: The scenarios.
        memories: The memories, one agent each; the agents answer in this order.
        models: The endpoint of each of `ROLES`; without a compressor the memories are keyless.
        log: The file of the call log.
        seeds: Each scenario runs once per seed.
        turns: Maximum number of turns per scenario; None for all.
        scripted: Use the scenario's own words as queries instead of the judge's.
        judging: The judge's settings.
        answer_tokens: Token limit of an agent's answer.
        budget: The spending limits.
        concurrency: Maximum number of concurrent model calls. With 1, the agents answer in order,
            as in the paper. The prompts do not depend on it.
        patience: Time limits for the models.
        counter: Counts memory tokens.
    """

    scenarios: Sequence[Scenario]
    memories: Sequence[MemorySpec]
    models: dict[str, Endpoint]
    log: Path
    seeds: Sequence[int] = (1,)
    turns: int | None = None
    scripted: bool = False
    judging: JudgeSettings = field(default_factory=JudgeSettings)
    answer_tokens: int = 1_500
    budget: Budget = field(default_factory=Budget)
    concurrency: int = 4
    patience: Patience = field(default_factory=Patience)
    counter: TokenCounter = utf8_quarter

    def configuration(self) -> dict[str, Any]:
        """All settings that determine the prompts. Budget and concurrency are excluded."""
        return {
            "prompts": prompts.PROMPTS_VERSION,
            "models": {role: endpoint.model for role, endpoint in self.models.items()},
            "memories": [spec.as_json() for spec in self.memories],
            "scenarios": {s.id: _fingerprint(s) for s in self.scenarios},
            "seeds": list(self.seeds),
            "turns": self.turns,
            "scripted": self.scripted,
            "judge": asdict(self.judging),
            "answer_tokens": self.answer_tokens,
            "reply_chars": REPLY_CHARS,
            "counter": self.counter.name,
            "order": [spec.label for spec in self.memories],
        }

    @property
    def total_turns(self) -> int:
        """Total number of turns of all runs."""
        most = [min(len(s.script), self.turns or len(s.script)) for s in self.scenarios]
        return sum(most) * len(self.seeds)


def play(live: Live, on_turn: Callable[[Spending], None], stop: Event) -> LiveResult:
    """Run the evaluation. Repeating the call continues an interrupted evaluation.

    Args:
        live: The setup.
        on_turn: Called after each turn of any run, in that run's thread.
        stop: Set to stop between turns; an interrupt sets it.

    Returns:
        The result; partial if the budget was reached or ``stop`` was set.

    Raises:
        EvaluationError: A model does not answer, or the log is unusable.
        ConfigurationError: The log belongs to another evaluation, or the setup is invalid.
    """
    _check(live)
    spending = Spending(live.budget)

    def after_turn() -> None:
        on_turn(spending)
        if stop.is_set():
            raise Stopped

    with CallLog(live.log, live.configuration()) as log:
        count_logged(log, spending)
        shared = _Shared(live, log, spending, BoundedSemaphore(live.concurrency), after_turn, stop)
        return LiveResult(live, _side_by_side(shared), spending)


class _Shared(NamedTuple):
    """The objects that all runs share."""

    live: Live
    log: CallLog
    spending: Spending
    slots: BoundedSemaphore
    after_turn: Callable[[], None]
    stop: Event


def _side_by_side(shared: _Shared) -> list[RunOutcome]:
    live, stop = shared.live, shared.stop
    runs = [(scenario, seed) for scenario in live.scenarios for seed in live.seeds]
    with ThreadPoolExecutor(min(live.concurrency, len(runs)), "acc-run") as pool:
        futures = [pool.submit(_played, shared, *run) for run in runs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            stop.set()
        except BaseException:
            stop.set()
            raise
        if any(future.done() and future.exception() for future in futures):
            stop.set()  # the other runs end after their current turn, which the log keeps
    return [future.result() for future in futures]


@dataclass(frozen=True)
class LiveResult:
    """The result of a live evaluation.

    Attributes:
        live: The setup.
        runs: The runs, in the order of scenarios and seeds.
        spending: What the evaluation cost, including earlier runs of the log.
    """

    live: Live
    runs: Sequence[RunOutcome]
    spending: Spending

    @property
    def stopped(self) -> str:
        """Why the evaluation ended early; empty if it did not."""
        return next((run.stopped for run in self.runs if run.stopped), "")


def _played(shared: _Shared, scenario: Scenario, seed: int) -> RunOutcome:
    live = shared.live
    name = f"{scenario.id}/{seed}"
    role = scenario.truth.role or "an assistant"

    def logged(kind: str, label: str = "") -> LoggedEndpoint:
        endpoint = live.models.get(kind, live.models["agent"])
        return LoggedEndpoint(endpoint, shared.log, shared.spending, Place(name, kind, label))

    def agent(spec: MemorySpec) -> Agent:
        compressor = logged("compressor", spec.label)
        memory = spec.make(compressor if "compressor" in live.models else None)
        return Agent(
            spec.label, memory, logged("agent", spec.label), compressor, role,
            patience=live.patience, counter=live.counter, output_tokens=live.answer_tokens,
        )  # fmt: skip

    turns = len(scenario.script) if live.turns is None else live.turns
    return Episode(
        scenario=scenario, seed=seed, slots=shared.slots, in_order=live.concurrency == 1,
        scripted=live.scripted,
        judge=Judge(logged("judge"), live.judging, live.patience, role),
        agents=[agent(spec) for spec in live.memories],
        turns=0 if shared.stop.is_set() else turns, on_turn=shared.after_turn,
    ).play()  # fmt: skip


def _check(live: Live) -> None:
    live.budget.check(set(live.models))
    missing = [role for role in ("agent", "judge") if role not in live.models]
    if missing or not live.seeds or live.concurrency < 1 or not live.memories:
        raise ConfigurationError(
            f"no model for {missing[0]}" if missing else "no seed, no memory, or no concurrency",
            where="live evaluation",
            hint="name a model for agent and judge, and at least one seed and memory",
        )
    if len(live.memories) > 26:
        raise EvaluationError("more than 26 agents", hint="labels are letters: compare fewer")


def _fingerprint(scenario: Scenario) -> str:
    said = [turn.model_dump(mode="json") for turn in scenario.script]
    whole = canonical_json([scenario.truth.role, said])
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
