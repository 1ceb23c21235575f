"""The paper's two algorithms: what an agent reads before it speaks, and which agent speaks next.

The paper is *Intrinsic Memory Agents* (arXiv 2508.08997). Both functions are pure. Where the paper leaves something
open or contradicts itself, the docstring says what is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acc.errors import ConfigurationError, InputError
from acc.text.tokens import TokenCounter, guarded, utf8_quarter


def construct_context(
    task: str,
    memory: str,
    history: Sequence[str],
    max_tokens: int,
    *,
    counter: TokenCounter = utf8_quarter,
) -> list[str]:
    """Return what an agent reads: the task, its memory, and the newest turns that fit (Algorithm 1).

    The paper passes the task as the first turn; here it is an argument. As there, the first turn that does not fit ends
    the search, so that the turns have no gap. There, a task and a memory beyond the limit give a longer context; here
    they are an error. What a model's API adds to each message is not counted.

    Args:
        task: The initial task description.
        memory: The agent's memory, rendered; it has its place if it is empty, too.
        history: The turns of the conversation after the task, oldest first.
        max_tokens: The limit on all parts together.
        counter: Counts tokens. If it fails, tokens are estimated.

    Raises:
        ConfigurationError: Task and memory alone exceed ``max_tokens``, or it is not a number of tokens.
        InputError: The task, the memory or a turn is not a text.
    """
    count = guarded(counter)
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise _wrong("the history", history)
    context = [_text(task, "the task"), _text(memory, "the memory")]
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 0:
        raise ConfigurationError(
            f"max_tokens is {max_tokens!r}",
            where="construct_context",
            hint="give a number of tokens",
        )
    task_tokens, memory_tokens = map(count, context)
    remaining = max_tokens - task_tokens - memory_tokens
    if remaining < 0:
        raise ConfigurationError(
            f"the task takes {task_tokens} tokens and the memory {memory_tokens}, of {max_tokens}",
            where="construct_context",
            hint=f"set max_tokens to {task_tokens + memory_tokens} or more, shorten the task, or bound the memory "
            "by Policy(max_tokens=...)",
        )
    recent: list[str] = []
    for number, turn in zip(range(len(history), 0, -1), reversed(history), strict=True):
        tokens = count(_text(turn, f"turn {number} of the history"))
        if tokens > remaining:
            break
        recent.append(turn)
        remaining -= tokens
    return [*context, *reversed(recent)]


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _wrong(what, value)
    return value


def _wrong(what: str, value: object) -> InputError:
    return InputError(
        f"{what} is {type(value).__name__}", where="construct_context",
        hint="pass texts, and the history as a list of texts that name their speakers",
    )  # fmt: skip


@dataclass(frozen=True)
class Selection:
    """Which agent speaks next (Algorithm 2), as a function of who has spoken and what was said last.

    A worker follows the delegate, each worker in turn. After a worker the delegate follows, but the integrator once
    every worker has had its turn; then the evaluator. A flag in the last message ends this: the documenter follows, and
    after it nobody. The paper's text and code differ. Here the names are those of its code (ERA, MLA; not EA, MLE);
    both flags count, from any speaker; turns are counted in ``speakers``, not in a global variable; the delegate is
    first, and follows the evaluator and anybody else, such as the user. ``ACCEPT`` is the delegate's prompt's to find.

    Attributes:
        workers: The agents that work on the solution, in their order.
        delegate: Facilitates: it speaks before each worker.
        integrator: Summarizes each round.
        evaluator: Evaluates the solutions.
        documenter: Writes the final output.
        flags: Words in the last message that end the discussion.

    Raises:
        ConfigurationError: There is no worker or flag, or two agents have one name.
    """

    workers: tuple[str, ...] = ("BOA", "DEA", "MLA", "IA")
    delegate: str = "CDA"
    integrator: str = "KIA"
    evaluator: str = "ERA"
    documenter: str = "DJE"
    flags: tuple[str, ...] = ("FINALIZATION", "FINALIZE")

    def __post_init__(self) -> None:
        one = (self.delegate, self.integrator, self.evaluator, self.documenter)
        lists = [
            value for value in (self.workers, self.flags) if isinstance(value, tuple) and value
        ]
        names = (*one, *self.workers)
        are_words = all(map(_is_word, (*names, *self.flags)))
        if len(lists) < 2 or not are_words or len(set(names)) < len(names):
            raise ConfigurationError(
                f"the agents are {names!r}, the flags {self.flags!r}", where="Selection",
                hint="give tuples of workers and flags, and each agent a name of its own",
            )  # fmt: skip

    def __call__(self, speakers: Sequence[str], last_message: str = "") -> str | None:
        """Return who speaks next; None after the documenter.

        Args:
            speakers: Who has spoken, oldest first; names that are no agent's, such as the user's, may be among them.
            last_message: The text of the last turn.
        """
        last = speakers[-1] if speakers else None
        if last == self.documenter:
            return None
        if any(flag in last_message for flag in self.flags):
            return self.documenter
        turns = sum(speaker in self.workers for speaker in speakers)
        if last == self.delegate:
            return self.workers[turns % len(self.workers)]
        if last in self.workers:
            return self.integrator if turns % len(self.workers) == 0 else self.delegate
        return self.evaluator if last == self.integrator else self.delegate


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
