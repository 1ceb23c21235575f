"""Any model in the place of the simulated agent, and of the coarse evaluator."""

from __future__ import annotations

from collections.abc import Sequence

from acc.models.endpoints import as_model
from acc.models.protocol import ChatModel
from acc_eval.asking import asked_text

from .addition import ModelJudge
from .conditions import FAMILIES, Condition
from .memory import Demonstration, render_demonstrations
from .running import Agent, Scale, Trace, run
from .tasks import Task

ANSWER_TOKENS = 400
"""Tokens of an execution at the most."""


def model_agent(model: ChatModel, instruction: str) -> Agent:
    """An agent that asks the model, with the demonstrations before the task.

    It raises `acc.errors.EvaluationError` where the model does not answer.
    """

    def does(task: Task, shown: Sequence[Demonstration]) -> str:
        examples = render_demonstrations(shown)
        text = f"{examples}\n\nTask: {task.text}\nExecution:".lstrip()
        return asked_text(model, instruction, text, limit=ANSWER_TOKENS)

    return does


class ModelRunner:
    """Runs conditions with a model as the agent, as the coarse evaluator, or as both.

    Args:
        agent: A model or its name (`acc.models.endpoints.as_model`); empty for the simulated one.
        judge: Likewise; empty for the family's coarse evaluator.

    Raises:
        ConfigurationError: A model cannot be asked as things are set up.
    """

    def __init__(self, agent: str | ChatModel, judge: str | ChatModel = "") -> None:
        self._model = as_model(agent) if agent else None
        self._judge = ModelJudge(judge) if judge else None

    def __call__(self, condition: Condition, seed: int, scale: Scale) -> Trace:
        """One run.

        Raises:
            EvaluationError: The agent's model does not answer.
        """
        instruction = FAMILIES[condition.family](seed).instruction
        agent = model_agent(self._model, instruction) if self._model else None
        return run(condition, seed, scale, agent, self._judge)
