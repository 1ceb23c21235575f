"""``acc replay``: feeds completed turns into a memory, and continues after an earlier run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from acc.cli import options
from acc.cli.models import model_named
from acc.cli.opening import Memory, Place, last_policy, opened, reading
from acc.cli.options import argument, flag, option, parse_price
from acc.cli.output import JsonLines
from acc.cli.policies import Schema, digest_key
from acc.cli.replay_run import Run
from acc.errors import ConflictError, InputError, StateError
from acc.journal import ThreadKey
from acc.journal.opened import FILE
from acc.state.policy import Policy
from acc.step import Cadence
from acc.turn.conversations import read_conversation
from acc.turn.observations import PASTED, Channel
from acc.turn.turn import Turn
from acc.update import KEYLESS, WITH_A_MODEL


def parse_channel(text: str) -> tuple[str, Channel]:
    """Parse TOOL=CHANNEL. The operator's and the agent's channel are not allowed.

    Raises:
        typer.BadParameter: The text has another form.
    """
    tool, _, name = text.rpartition("=")
    if not tool or name not in ("user", "tool", "document"):
        what = f"{text!r} is not TOOL=CHANNEL with the channel user, tool or document"
        raise typer.BadParameter(what)
    return tool, Channel(name)


def replay(
    file: Annotated[Path, argument("FILE", "Chat messages (JSON or JSONL), or an evaluation scenario.")],
    memory: options.NewMemoryOption = None,
    thread: Annotated[str, option("NAME", "The thread. [default: the file's name without ending]")] = "",
    model: options.ModelOption = "",
    price: Annotated[Any, option("IN,OUT[,CACHED]", "Price per million tokens, in any "
        "currency.", parser=parse_price)] = None,
    record: Annotated[Path | None, option("FILE", "Append the model's answers to FILE, for --model "
        "recorded:FILE.")] = None,
    compress_over: Annotated[int | None, option("N", "Compress when over N tokens wait; 0: each turn. [default: "
        "2000 with a model, else 0]", min=0)] = None,
    max_tokens: Annotated[int | None, option("N", "Tokens of the state at most. [default: the thread's, or 1600 "
        "with a model, else 1100]", min=64)] = None,
    schema: options.SchemaOption = None,
    channel: Annotated[list[Any] | None, option("TOOL=CHANNEL", "Trust the results of this tool like those of a "
        "channel: user, tool or document. Repeatable. [default: tool]", parser=parse_channel)] = None,
    repair: Annotated[bool, flag("--repair", "Accept a damaged file: replace broken characters, and skip an "
        "incomplete last line.")] = False,
    turns: Annotated[int | None, option("N", "Replay only the first N turns.", min=0)] = None,
    json: Annotated[str, option("FILE", "Write one JSON object per turn to this file; - for stdout.")] = "",
) -> None:  # fmt: skip
    """Replay a conversation turn by turn and report each state.

    With --memory, acc show, diff and verify can read the result.
    """
    channels = dict(channel or ())
    conversation = read_conversation(file, repair=repair, channels=channels)
    _check_tools(channels, conversation.turns)
    if json not in ("", "-") and Path(json).exists() and Path(json).samefile(file):
        what = "--json would overwrite the replayed file"
        raise InputError(what, where=json, hint="name another file")
    key = ThreadKey(thread or file.stem)
    asked = model_named(model, record=record, price=price)
    policy = _policy(_policy_before(memory, key), schema, max_tokens, has_model=asked is not None)
    cadence = None if compress_over is None else Cadence(compress_over=compress_over)
    total = min(len(conversation.turns), turns if turns is not None else sys.maxsize)
    with ExitStack() as stack:
        out = stack.enter_context(closing(JsonLines(json))) if json else None
        folder = memory or Path(
            stack.enter_context(TemporaryDirectory(prefix="acc-", ignore_cleanup_errors=True))
        )
        how = {"policy": policy, "model": asked, "cadence": cadence, "fork": False}
        controller = stack.enter_context(opened(folder, create=True, **how))
        price = getattr(asked, "price", None)
        run = Run(
            controller, conversation, key, total, memory, out, json == "-", bool(model), price
        )
        try:
            run.replay()
        except (ConflictError, StateError) as error:
            what = f"the thread {key.thread!r} holds another conversation"
            where = f"turn {run.done + 1} of {file} differs from the memory in {memory}"
            hint = "name another thread with --thread or another memory with --memory"
            raise InputError(what, where=where, hint=hint) from error


def _policy_before(memory: Memory | None, key: ThreadKey) -> Policy | None:
    """Return the policy of the thread's last commit, if there is one."""
    if memory is None or (isinstance(memory, Path) and not (memory / FILE).is_file()):
        return None
    with reading(memory) as journal:
        return last_policy(journal, Place(key)) if journal.head(key).hash else None


def _policy(
    before: Policy | None, schema: Schema | None, max_tokens: int | None, *, has_model: bool
) -> Policy:
    """Return the policy of the replay: what is given, else the thread's, else the default."""
    if before is None:
        bound, _ = WITH_A_MODEL if has_model else KEYLESS
        bound = max(bound, schema.max_tokens if schema is not None else 0)
        before = Policy(max_tokens=bound, digest_key=digest_key())
    bound = max_tokens or before.max_tokens
    return replace(before, schema=schema or before.schema, max_tokens=bound)


def _check_tools(named: Iterable[str], turns: Iterable[Turn]) -> None:
    """Check that every tool given a channel occurs in ``turns``."""
    tools = {o.name for turn in turns for o in turn.observations if o.name} - {PASTED}
    if unknown := sorted(set(named) - tools):
        known = f"name one of {', '.join(sorted(tools))}" if tools else "there are no tools"
        what = f"no tool {unknown[0]!r} in the conversation"
        raise InputError(what, where="--channel", hint=known)
