"""A model in the agent's place, and as the coarse evaluator; and the memory between them."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_evaluation import Fault, Request, ScriptedModel

from acc.errors import ConfigurationError, EvaluationError
from benchmarks.experience.addition import Addition, Judgement, ModelJudge
from benchmarks.experience.conditions import Condition
from benchmarks.experience.memory import ExperienceMemory, Retrieval, render_demonstrations
from benchmarks.experience.model_agent import ModelRunner
from benchmarks.experience.running import Scale

TINY = Scale(tasks=4, initial=5)
GOOD = Judgement(admitted=True, utility=1.0)


def copies(request: Request) -> dict[str, Any]:
    """Answers as the last demonstration does: the most similar one."""
    *_, last, _ = request.messages[1].content.split("Execution:")
    return {"text": last.split("Task:")[0].strip()}


def test_a_model_reads_demonstrations_and_is_followed_by_the_memory() -> None:
    requests: list[Request] = []
    runner = ModelRunner(ScriptedModel("m", copies, requests))
    trace = runner(Condition("cic-iot", "all"), 1, TINY)
    assert len(requests) == 4
    asked = requests[0].messages
    assert "Attack type: NAME" in asked[0].content
    assert asked[1].content.count("Execution:") == 3 + 1
    assert trace.alike_out.mean() == pytest.approx(1.0)
    assert trace.size[-1] == 5 + 4


def test_a_model_judges() -> None:
    requests: list[Request] = []
    refusal = {"text": "no\nI do not believe it."}
    runner = ModelRunner("", ScriptedModel("judge", lambda _: refusal, requests))
    trace = runner(Condition("cic-iot", "coarse"), 1, TINY)
    assert len(requests) == 4
    assert trace.size[-1] == 5


def test_a_model_that_does_not_answer_is_an_error() -> None:
    runner = ModelRunner(ScriptedModel("m", lambda _: Fault(), []))
    with pytest.raises(EvaluationError, match="does not answer"):
        runner(Condition("cic-iot", "all"), 1, TINY)


@pytest.mark.parametrize(
    ("answer", "admitted", "reason"),
    [
        ("yes\nbecause", True, "because"),
        ("**No.** \nwrong unit", False, "wrong unit"),
        ("maybe", False, "the model answered neither yes nor no: maybe"),
    ],
)
def test_a_judge_says_yes_or_no(answer: str, admitted: bool, reason: str) -> None:
    found = ModelJudge(lambda *_: answer)("task", "execution")
    assert (found.admitted, found.reason) == (admitted, reason)


def test_an_evaluator_fits_its_policy_and_a_failing_one_refuses() -> None:
    with pytest.raises(ConfigurationError, match="needs an evaluator"):
        Addition("strict")
    with pytest.raises(ConfigurationError, match="takes no evaluator"):
        Addition("all", lambda *_: True)

    def fails(task: str, _: str) -> bool:
        raise KeyError(task)

    found = Addition("strict", fails).judge("t", "e")
    assert (found.admitted, found.evaluator) == (False, "fails")
    assert "KeyError" in found.reason


def test_the_most_similar_tasks_are_shown_within_the_room() -> None:
    memory = ExperienceMemory(Addition("all"), lambda *_: {}, Retrieval(k=2, chars=60))
    for task in ("restart nginx on web-1", "count the patients", "restart nginx on web-2"):
        memory.seed(task, "done", GOOD)
    shown = memory.retrieve("restart nginx on web-3")
    assert [d.experience.task for d in shown] == [
        "restart nginx on web-2",
        "restart nginx on web-1",
    ]
    assert render_demonstrations(shown).endswith("web-2\nExecution: done")
    memory.seed("restart nginx on web-3", "x" * 100, GOOD)
    assert all(len(d.experience.execution) < 100 for d in memory.retrieve("restart nginx on web-3"))


def test_use_is_counted_and_deletion_follows_it() -> None:
    def spares_used(usages: Any, t: int) -> dict[str, str]:
        return {u.key: "unused" for u in usages if not u.retrieved and u.added < t}

    memory = ExperienceMemory(Addition("strict", lambda *_: True), spares_used, Retrieval(k=1))
    memory.seed("restart nginx", "done", GOOD)
    memory.seed("count patients", "12", GOOD)
    done = memory.finish("restart nginx again", "done", memory.retrieve("restart nginx again"))
    assert list(done.deleted) == ["exp.1"]
    assert done.output_similarity == 1.0
    assert [(u.key, list(u.retrieved), list(u.utilities)) for u in memory.usages()] == [
        ("exp.0", [1], [1.0]), ("exp.2", [], [1.0]),
    ]  # fmt: skip
