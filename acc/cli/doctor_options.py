"""The options of ``acc doctor``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer


class Api(Enum):
    """An API of OpenAI's."""

    CHAT = "chat"
    RESPONSES = "responses"


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
LookOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Only look; without it what is lost or unreachable is mended."),
]
