"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from acc.folders import expanded
from acc.journal.names import ThreadKey
from acc.journal.opened import is_url
from acc.models.choosing import as_model
from acc.models.recorded import RecordedModel

DEFAULT_MEMORY = Path("memory")

Scope = Mapping[str, Any]

RECORDED = "recorded:"


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option with a value."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=help, **more)


def parse_scope(text: str, *, names: tuple[str, ...] = ("user", "agent", "tenant")) -> Scope:
    """Parse ``user=NAME,tenant=NAME`` and so on, each at most once.

    Raises:
        typer.BadParameter: The text has another form.
    """
    parts = [part.partition("=") for part in text.split(",")]
    found = {name: value for name, _, value in parts}
    if len(found) != len(parts) or not found.keys() <= set(names) or not all(found.values()):
        raise typer.BadParameter(f"{text!r} is not {'=NAME, '.join(names)}=NAME, or several")
    return found


def named(scope: Scope | None) -> dict[str, Any]:
    """Return a scope as arguments; a thread in it as its key."""
    given = dict(scope or {})
    return {"thread": ThreadKey(**given)} if "thread" in given else given


def model_named(name: str) -> Any:
    """Return the model of ``--model``; None for the keyless rules.

    Raises:
        AccError: The model cannot be used, or recorded answers cannot be read.
    """
    if name.startswith(RECORDED):
        return RecordedModel(name.removeprefix(RECORDED))
    return as_model(name) if name else None


def _memory(text: str) -> Path | str:
    """Return a folder or an address. A shell expands ``~`` in ``--memory ~/x`` but not in ``--memory=~/x``."""
    return text if is_url(text) else expanded(text)


_WITH_THREAD = partial(parse_scope, names=("user", "agent", "tenant", "thread"))

_WHERE = (
    "The memory's folder, or postgresql://... ACC_CHROMA names its Chroma server, if it has one."
)
MemoryOption = Annotated[Any, option("DIR", _WHERE, "--memory", parser=_memory)]
_KEEP = (
    "Keep the memory in this folder. If it holds the thread, continue after its last turn. "
    "[default: a temporary folder]"
)
NewMemoryOption = Annotated[Any, option("DIR", _KEEP, "--memory", parser=_memory)]
_THREAD = "The thread, as acc threads names it. [default: the only one]"
ThreadOption = Annotated[str | None, option("NAME", _THREAD, "--thread")]
_OWNER = "Whose: user=NAME, agent=NAME, tenant=NAME, or several with commas between."
ScopeOption = Annotated[Any, option("OWNER", _OWNER, "--scope", parser=parse_scope)]
_ONLY = "Only of user=NAME, agent=NAME, tenant=NAME, thread=NAME, or several with commas between."
FilterOption = Annotated[Any, option("OWNER", _ONLY, "--scope", parser=_WITH_THREAD)]
JsonOption = Annotated[bool, flag("--json", "Print JSON.")]
_YES = "Do it without asking. Without it, a script gets the plan alone."
YesOption = Annotated[bool, flag("--yes", _YES)]
_A_MODEL = (
    "Compress with this model: NAME at OPENAI_BASE_URL, NAME@URL, PROVIDER:NAME of LangChain, or "
    "recorded:FILE. [default: the keyless rules]"
)
ModelOption = Annotated[str, option("NAME", _A_MODEL)]
