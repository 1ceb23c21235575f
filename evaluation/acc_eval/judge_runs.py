"""The live evaluation: plays every scenario with every seed, turn by turn, with one call log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, TypeVar

from acc.errors import ConfigurationError, EvaluationError
from acc.models.protocol import ChatModel, PromptMessage
from acc.text.lines import canonical_json
from acc.text.tokens import TokenCounter, guarded, utf8_quarter
from acc.turn.turn import Turn
from acc_eval.asking import TEXT_SCHEMA, asked, text_in
from acc_eval.judge import (
    AGENT,
    PROMPTS_VERSION,
    CanonicalMemory,
    Judge,
    JudgeSettings,
    cut,
    instruction,
    material,
    presentation_order,
)
from acc_eval.judge_calls import (
    Budget,
    BudgetReached,
    CallLog,
    LoggedModel,
    Place,
    Spending,
    count_logged,
)
from acc_eval.judge_measures import (
    MEASURES,
    Difference,
    Interval,
    RunOutcome,
    TurnOutcome,
    deviation_over_turns,
    differences,
    intervals,
)
from acc_eval.memories.specs import MemorySpec
from acc_eval.probe_results import write_csv
from acc_eval.scenarios import Scenario, ScriptedTurn, ToolOutput

ROLES = ("agent", "compressor", "judge")

REPLY_CHARS = 2_000
"""Maximum characters of its last reply that an agent reads again."""

NO_ANSWER = "(no answer)"
"""Replaces an answer that the model refused or left empty."""


@dataclass(frozen=True)
class Live:
    """The setup of a live evaluation.

    Attributes:
        memories: The memories, one agent each; the agents answer in this order.
        models: The model of each of `ROLES`; without a compressor the memories are keyless.
        log: The file of the call log.
        seeds: Each scenario runs once per seed.
        turns: Maximum number of turns per scenario; None for all.
        scripted: Use the scenario's own words as queries instead of the judge's.
        answer_tokens: Token limit of an agent's answer.
        concurrency: Maximum number of concurrent model calls. With 1, the agents answer in order,
            as in the paper. The prompts do not depend on it.
        counter: Counts memory tokens.
    """

    scenarios: Sequence[Scenario]
    memories: Sequence[MemorySpec]
    models: dict[str, ChatModel]
    log: Path
    seeds: Sequence[int] = (1,)
    turns: int | None = None
    scripted: bool = False
    judging: JudgeSettings = field(default_factory=JudgeSettings)
    answer_tokens: int = 1_500
    budget: Budget = field(default_factory=Budget)
    concurrency: int = 4
    counter: TokenCounter = utf8_quarter

    def configuration(self) -> dict[str, Any]:
        """All settings that determine the prompts. Budget and concurrency are excluded."""
        return {
            "prompts": PROMPTS_VERSION,
            "models": {role: model.name for role, model in self.models.items()},
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


@dataclass(frozen=True)
class LiveResult:
    """The result of a live evaluation: its runs, and what it cost with earlier runs of the log."""

    live: Live
    runs: Sequence[RunOutcome]
    spending: Spending

    @property
    def stopped(self) -> str:
        """Why the evaluation ended early; empty if it did not."""
        return next((run.stopped for run in self.runs if run.stopped), "")


class Stopped(Exception):
    """The caller asked the evaluation to stop between two turns."""


def play(live: Live, on_turn: Callable[[Spending], None], stop: Event) -> LiveResult:
    """Run the evaluation. Repeating the call continues an interrupted evaluation.

    The result is partial if the budget was reached or ``stop`` was set; an interrupt sets it.
    ``on_turn`` is called after each turn of any run, in that run's thread.

    Raises:
        EvaluationError: A model does not answer, or the log is unusable.
        ConfigurationError: The log belongs to another evaluation, or the setup is invalid.
    """
    _check(live)
    spending = Spending(live.budget)
    slots = BoundedSemaphore(live.concurrency)

    def after_turn() -> None:
        on_turn(spending)
        if stop.is_set():
            raise Stopped

    with CallLog(live.log, live.configuration()) as log:
        count_logged(log, spending)

        def run(scenario: Scenario, seed: int) -> RunOutcome:
            turns = live.turns if live.turns is not None else len(scenario.script)
            played = _Run(live, scenario, seed, log, spending, slots)
            return played.play(0 if stop.is_set() else turns, after_turn)

        return LiveResult(live, _concurrently(live, run, stop), spending)


def _concurrently(
    live: Live, run: Callable[[Scenario, int], RunOutcome], stop: Event
) -> list[RunOutcome]:
    pairs = [(scenario, seed) for scenario in live.scenarios for seed in live.seeds]
    with ThreadPoolExecutor(min(live.concurrency, len(pairs)), "acc-run") as pool:
        futures = [pool.submit(run, *pair) for pair in pairs]
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


class _Agent:
    """Answers turn by turn, with one memory."""

    def __init__(
        self, spec: MemorySpec, live: Live, model: ChatModel, compressor: LoggedModel, role: str
    ) -> None:
        self.label = spec.label
        self.memory = spec.make(compressor if "compressor" in live.models else None)
        self._live = live
        self._model = model
        self._compressor = compressor
        self._role = role
        self._counter = guarded(live.counter)
        self._before: list[dict[str, str]] = []
        self._reply = ""

    def answer(self, query: str, tools: str) -> tuple[str, int]:
        """The agent's answer, and M_t: the tokens that it read of its memory."""
        reading = self.memory.read(query)
        self._settle()
        shown = material(
            ("memory", reading.text),
            ("your last reply", cut(self._reply, REPLY_CHARS)),
            ("tool outputs of this turn", tools),
            ("the user's message", query),
        )
        stable = instruction(AGENT, role=self._role)
        messages = (PromptMessage("system", stable), PromptMessage("user", shown))
        said = asked(self._model, messages, TEXT_SCHEMA, self._live.answer_tokens).text
        return text_in(said) or NO_ANSWER, self._counter(reading.text)

    def observe(self, query: str, outputs: Sequence[ToolOutput], answer: str) -> None:
        """Pass the completed turn to the memory."""
        messages = [{"role": "user", "content": query}]
        messages += [{"role": "tool", "name": o.tool, "content": o.content} for o in outputs]
        messages.append({"role": "assistant", "content": answer})
        turn = Turn.all_from_messages([*self._before, *messages])[-1]
        self.memory.observe(turn)
        self._settle()
        self._before, self._reply = messages, answer

    def _settle(self) -> None:
        """Log the compressor's failures, which the memory survived. Stop if the budget is reached."""
        if self._compressor.stopped is not None:
            raise self._compressor.stopped
        self._compressor.confirm()


T = TypeVar("T")
R = TypeVar("R")


class _Run:
    """One run: one scenario, one seed, all agents. ``slots`` limits concurrent model calls."""

    def __init__(
        self,
        live: Live,
        scenario: Scenario,
        seed: int,
        log: CallLog,
        spending: Spending,
        slots: BoundedSemaphore,
    ) -> None:
        self._live = live
        self._scenario = scenario
        self._seed = seed
        self._slots = slots
        role = scenario.truth.role or "an assistant"

        def logged(kind: str, label: str = "") -> LoggedModel:
            model = live.models.get(kind, live.models["agent"])
            place = Place(f"{scenario.id}/{seed}", kind, label)
            return LoggedModel(model, log, spending, place)

        self._judge = Judge(logged("judge"), live.judging, role)
        self._agents = [
            _Agent(each, live, logged("agent", each.label), logged("compressor", each.label), role)
            for each in live.memories
        ]

    def play(self, turns: int, after_turn: Callable[[], None]) -> RunOutcome:
        """Run to turn ``turns``, or until the budget is reached or the caller stops the run."""
        found: dict[str, list[TurnOutcome]] = {agent.label: [] for agent in self._agents}
        notes = CanonicalMemory()
        stopped = ""
        try:
            with ThreadPoolExecutor(len(self._agents), "acc-agent") as pool:
                for turn in self._scenario.script[:turns]:
                    notes, outcomes = self._turn(turn, notes, pool)
                    for agent, outcome in zip(self._agents, outcomes, strict=True):
                        found[agent.label].append(outcome)
                    after_turn()
        except BudgetReached as reached:
            stopped = f"{reached.what} ({reached.where})"
        except Stopped:
            stopped = "interrupted"
        finally:
            for agent in self._agents:
                agent.memory.close()
        return RunOutcome(
            scenario=self._scenario.id,
            domain=self._scenario.truth.domain,
            seed=self._seed,
            agents=found,
            unjudged=self._judge.unjudged,
            stopped=stopped,
            failures={a.label: len(getattr(a.memory, "failures", ())) for a in self._agents},
        )

    def _turn(
        self, turn: ScriptedTurn, notes: CanonicalMemory, pool: ThreadPoolExecutor
    ) -> tuple[CanonicalMemory, list[TurnOutcome]]:
        query = turn.user
        with self._slots:
            if not self._live.scripted:
                query = self._judge.query(turn, len(self._scenario.script), notes)
            notes = self._judge.noted(turn.t, query, notes)
        tools = "\n\n".join(f"[{output.tool}]\n{output.content}" for output in turn.tool_outputs)
        answers = self._each(pool, self._agents, lambda agent: agent.answer(query, tools))
        texts = [text for text, _ in answers]
        order = presentation_order(self._seed, self._scenario.id, turn.t)
        # The judge's own calls are sequential, which makes its log reproducible.
        with self._slots:
            scores = self._judge.scored(turn.t, query, notes, texts, order)
        audits = []
        for text in texts:
            with self._slots:
                audits.append(self._judge.audited(turn.t, query, tools, notes, text))
        pairs = list(zip(self._agents, texts, strict=True))
        self._each(pool, pairs, lambda pair: pair[0].observe(query, turn.tool_outputs, pair[1]))
        outcomes = [
            TurnOutcome(turn.t, tokens, len(notes.constraints), score, audit)
            for (_, tokens), score, audit in zip(answers, scores, audits, strict=True)
        ]
        return notes, outcomes

    def _each(
        self, pool: ThreadPoolExecutor, values: Sequence[T], work: Callable[[T], R]
    ) -> list[R]:
        """Apply ``work`` to each value: in order with a concurrency of 1, else concurrently."""

        def held(value: T) -> R:
            with self._slots:
                return work(value)

        if self._live.concurrency == 1:
            return [held(value) for value in values]
        futures = [pool.submit(held, value) for value in values]
        # Wait for all futures: no call may run on after an error propagates.
        for future in futures:
            future.exception()
        return [future.result() for future in futures]


def _check(live: Live) -> None:
    live.budget.check(set(live.models))
    missing = [role for role in ("agent", "judge") if role not in live.models]
    if missing or not live.seeds or live.concurrency < 1 or not live.memories:
        raise ConfigurationError(
            f"{missing[0]} has no model" if missing else "no seed, no memory, or no concurrency",
            where="live evaluation",
            hint="set a model for agent and judge, and at least one seed and memory",
        )
    if len(live.memories) > 26:
        raise EvaluationError("more than 26 agents", hint="compare 26 memories or fewer")


def _fingerprint(scenario: Scenario) -> str:
    script = [turn.model_dump(mode="json") for turn in scenario.script]
    whole = canonical_json([scenario.truth.role, script])
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def complete(result: LiveResult) -> list[RunOutcome]:
    """The runs that reached their last turn. Only these are summarised."""
    return [run for run in result.runs if not run.stopped]


def as_json(result: LiveResult, reference: str, *, note: str = "") -> dict[str, Any]:
    """The whole result as plain JSON values. ``reference`` is compared with the other memories."""
    runs = complete(result)
    labels = [spec.label for spec in result.live.memories]
    spending = result.spending
    return {
        **({"note": note} if note else {}),
        "configuration": result.live.configuration(),
        "log": str(result.live.log),
        "stopped": result.stopped,
        "complete_runs": len(runs),
        "calls": dict(spending.calls),
        "usage": dict(spending.usage),
        "money": spending.money if result.live.budget.prices else None,
        "memories": [
            {
                "memory": label,
                "measures": _as_dicts(intervals(runs, label)),
                "deviation_over_turns": {
                    name: deviation_over_turns(runs, label, name) for name in MEASURES
                },
            }
            for label in labels
        ],
        "paired": [
            {
                "first": reference,
                "second": label,
                "measures": _as_dicts(differences(runs, reference, label)),
            }
            for label in labels
            if label != reference
        ],
        "runs": [run.as_json() for run in result.runs],
    }


def _as_dicts(
    measures: Mapping[str, Interval | None] | Mapping[str, Difference | None],
) -> dict[str, Any]:
    return {name: value._asdict() if value else None for name, value in measures.items()}


def write_turns(result: LiveResult, file: Path) -> None:
    """Write a CSV file with one line per run, agent and turn: every measure of `MEASURES`."""
    rows = (
        [run.scenario, run.domain, run.seed, label, turn.turn]
        + [measure(turn) for measure in MEASURES.values()]
        for run in result.runs
        for label, turns in run.agents.items()
        for turn in turns
    )
    write_csv(file, ["scenario", "domain", "seed", "memory", "turn", *MEASURES], rows)
