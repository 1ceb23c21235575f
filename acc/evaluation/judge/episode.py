"""One run of the live evaluation: one scenario, one seed, all agents, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import TypeVar

from acc.compress.asking import TEXT_SCHEMA, Patience, asked, text_in
from acc.compress.endpoint import Ask, Endpoint, Message
from acc.evaluation.judge.judging import (
    AGENT,
    Audit,
    CanonicalMemory,
    Judge,
    cut,
    instruction,
    material,
    presentation_order,
)
from acc.evaluation.judge.measures import RunOutcome, TurnOutcome
from acc.evaluation.judge.spending import BudgetReached, LoggedEndpoint
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.scenarios import Scenario, ScriptedTurn, ToolOutput
from acc.text.tokens import TokenCounter, guarded
from acc.turn.turn import Turn

REPLY_CHARS = 2_000
"""Maximum characters of its last reply that an agent reads again."""

NO_ANSWER = "(no answer)"
"""Replaces an answer that the model refused or left empty."""


class Agent:
    """Answers turn by turn.

    Attributes:
        label: The memory's label.
        memory: The memory.
    """

    def __init__(
        self,
        label: str,
        memory: EvaluatedMemory,
        model: Endpoint,
        compressor: LoggedEndpoint,
        role: str,
        *,
        patience: Patience,
        counter: TokenCounter,
        output_tokens: int,
    ) -> None:
        self.label = label
        self.memory = memory
        self._model = model
        self._compressor = compressor
        self._role = role
        self._patience = patience
        self._counter = guarded(counter)
        self._output_tokens = output_tokens
        self._before: list[dict[str, str]] = []
        self._reply = ""

    def answer(self, query: str, tools: str) -> tuple[str, int]:
        """The agent's answer, and M_t: the tokens that it read of its memory.

        Raises:
            EvaluationError: The model does not answer, or the budget is reached.
        """
        reading = self.memory.read(query)
        self._settle()
        shown = material(
            ("memory", reading.text),
            ("your last reply", cut(self._reply, REPLY_CHARS)),
            ("tool outputs of this turn", tools),
            ("the user's message", query),
        )
        stable = instruction(AGENT, role=self._role)
        messages = (Message("system", stable), Message("user", shown))
        reply = asked(self._model, Ask(messages, TEXT_SCHEMA, self._output_tokens), self._patience)
        return text_in(reply) or NO_ANSWER, self._counter(reading.text)

    def observe(self, query: str, outputs: Sequence[ToolOutput], answer: str) -> None:
        """Pass the completed turn to the memory.

        Raises:
            BudgetReached: The budget did not allow a call of the compressor.
        """
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


def shown_tools(outputs: Sequence[ToolOutput]) -> str:
    """Format tool outputs for agents and judge."""
    return "\n\n".join(f"[{output.tool}]\n{output.content}" for output in outputs)


T = TypeVar("T")
R = TypeVar("R")


class Stopped(Exception):
    """The caller asked the evaluation to stop between two turns."""


@dataclass
class Episode:
    """A run in progress.

    Attributes:
        scenario: The scenario.
        seed: Determines the order of presentation, and names the run.
        judge: The judge.
        agents: The agents, in the order of their answers.
        slots: A semaphore that limits the number of concurrent model calls.
        in_order: Whether agents answer one after the other, as in the paper, or concurrently.
        scripted: Whether the queries are the scenario's own words.
        turns: Maximum number of turns.
        on_turn: Called after each turn; may raise `Stopped`.
    """

    scenario: Scenario
    seed: int
    judge: Judge
    agents: Sequence[Agent]
    slots: BoundedSemaphore
    in_order: bool
    scripted: bool
    turns: int
    on_turn: Callable[[], None]

    def play(self) -> RunOutcome:
        """Run to the last turn, or until the budget is reached or the caller stops the run.

        Raises:
            EvaluationError: A model does not answer.
        """
        found: dict[str, list[TurnOutcome]] = {agent.label: [] for agent in self.agents}
        notes = CanonicalMemory()
        stopped = ""
        try:
            with ThreadPoolExecutor(len(self.agents), "acc-agent") as pool:
                for turn in self.scenario.script[: self.turns]:
                    notes, outcomes = self._turn(turn, notes, pool)
                    for agent, outcome in zip(self.agents, outcomes, strict=True):
                        found[agent.label].append(outcome)
                    self.on_turn()
        except BudgetReached as reached:
            stopped = f"{reached.what} ({reached.where})"
        except Stopped:
            stopped = "interrupted"
        finally:
            for agent in self.agents:
                agent.memory.close()
        return RunOutcome(
            scenario=self.scenario.id, domain=self.scenario.truth.domain, seed=self.seed,
            agents=found, turns=min(self.turns, len(self.scenario.script)),
            unjudged=self.judge.unjudged, stopped=stopped,
            failures={a.label: len(getattr(a.memory, "failures", ())) for a in self.agents},
        )  # fmt: skip

    def _turn(
        self, turn: ScriptedTurn, notes: CanonicalMemory, pool: ThreadPoolExecutor
    ) -> tuple[CanonicalMemory, list[TurnOutcome]]:
        query, notes = self._asked(turn, notes)
        tools = shown_tools(turn.tool_outputs)
        answers = self._each(pool, self.agents, lambda agent: agent.answer(query, tools))
        texts = [text for text, _ in answers]
        order = presentation_order(self.seed, self.scenario.id, turn.t)
        with self.slots:
            scores = self.judge.scored(turn.t, query, notes, texts, order)
        # The judge's own calls are sequential, which makes its log reproducible.
        audits: list[Audit | None] = []
        for text in texts:
            with self.slots:
                audits.append(self.judge.audited(turn.t, query, tools, notes, text))
        pairs = list(zip(self.agents, texts, strict=True))
        self._each(pool, pairs, lambda pair: pair[0].observe(query, turn.tool_outputs, pair[1]))
        outcomes = [
            TurnOutcome(turn.t, tokens, len(notes.constraints), score, audit)
            for (_, tokens), score, audit in zip(answers, scores, audits, strict=True)
        ]
        return notes, outcomes

    def _asked(self, turn: ScriptedTurn, notes: CanonicalMemory) -> tuple[str, CanonicalMemory]:
        """x_t, and the notes after it."""
        with self.slots:
            query = turn.user
            if not self.scripted:
                query = self.judge.query(turn, len(self.scenario.script), notes)
            return query, self.judge.noted(turn.t, query, notes)

    def _each(
        self, pool: ThreadPoolExecutor, values: Sequence[T], work: Callable[[T], R]
    ) -> list[R]:
        """Apply ``work`` to each value; concurrently within ``slots`` unless ``in_order``."""

        def held(value: T) -> R:
            with self.slots:
                return work(value)

        if self.in_order:
            return [held(value) for value in values]
        futures = [pool.submit(held, value) for value in values]
        # Wait for all futures: no call may run on after an error propagates.
        for future in futures:
            future.exception()
        return [future.result() for future in futures]
