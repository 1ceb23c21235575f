"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acc.folders import expanded

if TYPE_CHECKING:
    from acc.compress.protocol import Price
    from acc.state.model import CompressedCognitiveState
    from acc.turn.observations import Channel


def told_money(money: float | None) -> str:
    """Format an amount of money; a dash if no price was given."""
    return "-" if money is None else f"{money:.6f}"


class Paid:
    """Sums the model's tokens and cost over the turns of a run."""

    def __init__(self) -> None:
        self._usage: Counter[str] = Counter()
        self._money: float | None = None

    def add(self, usage: Mapping[str, int], money: float | None) -> None:
        """Add the usage and cost of one turn."""
        self._usage.update(usage)
        if money is not None:
            self._money = (self._money or 0.0) + money

    def __str__(self) -> str:
        if not self._usage:
            return ""
        read, wrote, cached = (self._usage[kind] for kind in ("input", "output", "cached"))
        money = "" if self._money is None else f", money {told_money(self._money)}"
        return f", model read {read:,} tokens ({cached:,} cached), wrote {wrote:,}{money}"


class Notation(StrEnum):
    """The notation of a rendered state."""

    TOON = "toon"
    PREDICATES = "predicates"


class CompressorMode(StrEnum):
    """What a model proposes: changes (revise) or a whole state (rewrite)."""

    REVISE = "revise"
    REWRITE = "rewrite"


class Api(StrEnum):
    """The OpenAI APIs."""

    CHAT = "chat"
    RESPONSES = "responses"


def _expanded(path: Path | None) -> Path | None:
    """Expand ``~``. A shell expands it in ``--memory ~/x`` but not in ``--memory=~/x``."""
    return expanded(path) if path is not None else None


MemoryOption = Annotated[
    Path,
    typer.Option("--memory", metavar="DIR", help="Folder of the memory.", callback=_expanded),
]
ThreadOption = Annotated[
    str | None,
    typer.Option(
        "--thread", metavar="NAME", help="The conversation; by default the only one there is."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]
StyleOption = Annotated[
    Notation | None, typer.Option("--style", help="Notation that the agent reads.")
]
BoundOption = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", min=64, help="Bound on the rendered state."),
]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="NAME",
        help="The domain's state: a name of acc schema list, file.py, or module:Class.",
    ),
]
SchemasOption = Annotated[
    list[str] | None,
    typer.Option(
        "--schema",
        metavar="NAME",
        help="A schema that commits were made under, where the record's own name cannot be loaded: "
        "a name of acc schema list, file.py, or module:Class. Repeatable.",
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST:PORT",
        help="Chroma server that holds the evidence; the audit logs stay in the folder.",
    ),
]

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Chat messages (JSON or JSONL), or a scenario.")
]
KeepOption = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        metavar="DIR",
        help="Keep the memory in this folder, and go on where it stopped. [default: temporary]",
        callback=_expanded,
    ),
]
NameOption = Annotated[
    str, typer.Option("--thread", metavar="NAME", help="By default the name of the file.")
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--channel",
        metavar="TOOL=CHANNEL",
        help="How far a tool is trusted: user, tool or document. Repeatable.",
    ),
]
OutOption = Annotated[
    str, typer.Option("--json", metavar="OUT", help="Write a JSON object a turn; - for stdout.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write an HTML page to look at any turn."),
]
RepairOption = Annotated[
    bool,
    typer.Option(
        "--repair",
        help="Mend broken characters and tool results, drop a last line that is cut off.",
    ),
]
TurnsOption = Annotated[
    int | None, typer.Option("--turns", metavar="N", min=0, help="Only the first N turns.")
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Compress with this model: openai:NAME or NAME (OPENAI_BASE_URL, OPENAI_API_KEY), or "
        "PROVIDER:NAME through LangChain. [default: keyless rules]",
    ),
]
ModeOption = Annotated[
    CompressorMode | None,
    typer.Option(
        "--mode", help="What the model proposes: changes, or the whole. [default: revise]"
    ),
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT[,CACHED]", help="What a million tokens cost, in any currency."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Only the last line.")]


EndpointOption = Annotated[
    str,
    typer.Option(
        "--endpoint",
        metavar="URL|MODEL",
        help="Try this endpoint, or this model at OPENAI_BASE_URL; sends it up to eight small questions.",
    ),
]
AskedOption = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="The model at the URL; by default its first."),
]
ApiOption = Annotated[Api, typer.Option("--api", help="Which API of OpenAI's it is to speak.")]
SecondsOption = Annotated[
    float, typer.Option("--seconds", metavar="N", min=0.01, help="For each question.")
]
MendOption = Annotated[
    bool,
    typer.Option(
        "--repair/--dry-run",
        help="Repair what is found. Without it the memory is only read, and what is wrong is told with "
        "the command that repairs it.",
    ),
]


def schema_class(name: str | None) -> type[CompressedCognitiveState] | None:
    """The schema that ``--schema`` names; None for an empty name.

    Raises:
        ConfigurationError: The name is no state class that can be imported.
    """
    from acc.schema.catalog import schema_named

    return schema_named(name) if name else None


def schema_classes(names: list[str] | None) -> list[type[CompressedCognitiveState]]:
    """The schemas that a repeated ``--schema`` names.

    Raises:
        ConfigurationError: One of the names is no state class that can be imported.
    """
    from acc.schema.catalog import schema_named

    return [schema_named(name) for name in names or ()]


def tool_channel(given: str) -> tuple[str, Channel]:
    """Parse a value of ``--channel`` into tool and channel.

    The operator's and the agent's channel are not allowed.

    Raises:
        typer.BadParameter: The value is not TOOL=CHANNEL.
    """
    from acc.turn.observations import Channel

    tool, _, name = given.rpartition("=")
    if not tool or name not in ("user", "tool", "document"):
        raise typer.BadParameter(
            f"{given!r} is no TOOL=CHANNEL with the channel user, tool or document"
        )
    return tool, Channel(name)


def token_price(given: str | None) -> Price | None:
    """Parse the value of ``--price``, per million tokens.

    Raises:
        typer.BadParameter: The value is not two or three numbers.
        ConfigurationError: A number is negative.
    """
    if given is None:
        return None
    from acc.compress.protocol import Price

    try:
        numbers = [float(number) for number in given.split(",")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3:
        raise typer.BadParameter(f"{given!r} is no IN,OUT or IN,OUT,CACHED per million tokens")
    return Price(*numbers)


def server_address(given: str | None) -> tuple[str, int] | None:
    """Parse ``--server`` into host and port.

    Raises:
        typer.BadParameter: The value is not HOST:PORT.
    """
    if given is None:
        return None
    host, _, port = given.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise typer.BadParameter(f"{given!r} is no HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)
