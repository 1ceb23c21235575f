"""The paper's two algorithms: what an agent reads before it speaks, and which agent speaks next.

The paper is *Intrinsic Memory Agents* (arXiv 2508.08997). Both functions are pure. Where the paper leaves something
open or contradicts itself, the docstring says what is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
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

    The paper passes the task as the first turn of the conversation; here it is an argument, so that a caller may
    shorten the history. As in the paper, the first turn that does not fit ends the search, even if older ones would
    fit, so the turns have no gap. An empty memory has its place, too. The paper checks nothing: there, a task and a
    memory beyond the limit give a longer context. Here they are an error. The limit applies to the sum of the parts,
    as of messages; what a model's API adds to each message is not counted.

    Args:
        task: The initial task description.
        memory: The agent's memory, rendered.
        history: The turns of the conversation after the task, oldest first.
        max_tokens: The limit on all parts together.
        counter: Counts tokens. If it fails, tokens are estimated (`acc.text.tokens.guarded`).

    Returns:
        The task, the memory, then the turns, oldest first.

    Raises:
        ConfigurationError: The task and the memory alone exceed ``max_tokens``, or it is not a number of tokens.
        InputError: The task, the memory or a turn is not a text.
    """
    count = guarded(counter)
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise InputError(
            f"the history is {type(history).__name__}",
            where="construct_context",
            hint="pass a list of turns, each a text",
        )
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
        raise InputError(
            f"{what} is {type(value).__name__}",
            where="construct_context",
            hint="pass texts: render a state with state.render(), and name a turn's speaker in its text",
        )
    return value


@dataclass(frozen=True)
class Selection:
    """Which agent speaks next (Algorithm 2), as a function of who has spoken and what was said last.

    A worker follows the delegate, each worker in turn. After a worker the delegate follows, but the integrator once
    every worker has had its turn; then the evaluator. The last message may end this with a flag: the documenter
    follows, and after it nobody.

    The paper counts the workers' turns in a global variable. Here they are counted in ``speakers``, so a
    conversation that is resumed goes on where it was. Its text and its code differ in these points:

    - Roles: the list of agents has EA and MLE, the code ERA and MLA. The names of the code are the defaults.
    - The flag: the text says that the delegate emits ``FINALIZE``; the code looks for ``FINALIZATION``, which does
      not contain it. Both count, from any speaker as in the code.
    - ``ACCEPT``, which the text has each agent say, is not in the code: the delegate's prompt has to look for it.
    - The first speaker, and who follows the evaluator, are not in the code. Here it is the delegate. So it is after
      anybody else, such as the user.
    - The code goes on after the documenter only if the flag is repeated; the text has it produce the final output.

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
        for name in ("workers", "flags"):
            given = getattr(self, name)
            if not (isinstance(given, tuple) and given and all(map(_is_word, given))):
                raise ConfigurationError(
                    f"{name} is {given!r}", where="Selection", hint="give a tuple of names"
                )
        others = [getattr(self, f.name) for f in fields(self) if f.name not in ("workers", "flags")]
        if not all(map(_is_word, others)) or len({*self.workers, *others}) < len(others) + len(
            self.workers
        ):
            raise ConfigurationError(
                f"two agents have one name, or one has none: {', '.join(map(repr, (*self.workers, *others)))}",
                where="Selection",
                hint="give each agent a name of its own",
            )

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
