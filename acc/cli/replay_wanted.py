"""What ``acc replay`` was asked for, and whether it makes sense together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acc.cli.turn_report import COLUMNS, PAID_COLUMNS
from acc.compress import Compressor, Mode
from acc.errors import ConfigurationError, InputError
from acc.folders import refuse_memorys
from acc.incoming import PASTED
from acc.price import Price
from acc.state import CompressedCognitiveState
from acc.turn import Channel, Turn


@dataclass(frozen=True)
class Wanted:
    """What a replay was asked for; None and empty stand for the default.

    A thread that is gone on with keeps its bound and its notation unless others are named.
    """

    file: Path
    memory: Path | None = None
    thread: str = ""
    server: tuple[str, int] | None = None
    max_tokens: int | None = None
    style: str | None = None
    schema: type[CompressedCognitiveState] | None = None
    channels: Mapping[str, Channel] = field(default_factory=dict)
    json: str = ""
    repair: bool = False
    turns: int | None = None
    quiet: bool = False
    model: str = ""
    mode: Mode | None = None
    price: Price | None = None
    report: Path | None = None

    @property
    def thread_name(self) -> str:
        """The thread's name: the file's, without its ending, unless one is given."""
        return self.thread or self.file.stem

    @property
    def columns(self) -> Mapping[str, int]:
        """Those of the table."""
        return PAID_COLUMNS if self.model else COLUMNS

    def compressor(self) -> Compressor | None:
        """The one that asks the model; None for the keyless rules.

        Raises:
            ConfigurationError: No such model, its key is missing, or a setting of a model that
                is not named.
        """
        if not self.model:
            for name, given in (("--mode", self.mode), ("--price", self.price)):
                if given is not None:
                    mend = "name the model with --model"
                    raise ConfigurationError("no model is asked", where=name, mend=mend)
            return None
        from acc.compressors.choosing import as_compressor

        return as_compressor(self.model, mode=self.mode or "revise", price=self.price)


def check_apart(wanted: Wanted) -> None:
    """Refuse to write over the file that is replayed, or a file of a memory.

    Raises:
        InputError: An output is such a file.
    """
    written = {"--json": "" if wanted.json == "-" else wanted.json, "--report": wanted.report or ""}
    for option, name in written.items():
        if name:
            refuse_memorys(Path(name))
        if name and Path(name).exists() and Path(name).samefile(wanted.file):
            raise InputError(
                f"{option} would overwrite the file that is replayed",
                where=str(name),
                mend="name another file",
            )


def check_tools(named: Iterable[str], turns: Iterable[Turn]) -> None:
    """Hold the names that are given a channel to those that speak in ``turns``.

    Raises:
        InputError: One never does; says who does.
    """
    speaking = {o.name for turn in turns for o in turn.observations if o.name} - {PASTED}
    for name in named:
        if name not in speaking:
            raise InputError(
                f"no tool {name!r} in the conversation",
                where="--channel",
                mend=f"name one of {', '.join(sorted(speaking)) or 'none: it has no tools'}",
            )
