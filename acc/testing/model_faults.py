"""What can go wrong between a client and a model, by name.

Fault("429", retry_after=2)
Reply({"goal": "..."}, fault=Fault("fenced"))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Literal, TypeAlias, get_args

StatusFault: TypeAlias = Literal[
    "400", "401", "403", "404", "408", "409", "413", "422", "429", "500", "502", "503", "504"
]
"""An HTTP status with an error body in OpenAI's form."""

InsteadFault: TypeAlias = (
    StatusFault
    | Literal[
        "context_overflow", "html_error", "html_page", "not_json", "bad_gzip", "no_response", "hang"
    ]
)
"""What comes instead of a model's answer.

A status; ``context_overflow``, a 400 with the code context_length_exceeded; ``html_error``, a
gateway's page with status 502; ``html_page``, a page with status 200, as of a wrong address;
``not_json``, 200 with a body that says JSON and is none; ``bad_gzip``, 200 with a body that says
gzip and is none; ``no_response``, the connection closed before any byte; ``hang``, nothing until
the client hangs up or the server is closed.
"""

SpokenFault: TypeAlias = Literal[
    "refusal",
    "content_filter",
    "truncated",
    "empty",
    "no_output",
    "invalid_json",
    "wrong_shape",
    "in_prose",
    "fenced",
    "failed",
    "missing_usage",
    "null_usage",
]
"""What the model or the API makes of the answer, with status 200.

``truncated`` is half of it, and ``length`` or ``incomplete``; ``empty`` an empty text; ``no_output``
no choice and no output item; ``wrong_shape`` JSON with none of the fields asked for; ``in_prose`` and
``fenced`` the answer within chatter, as a message even where a tool call was forced; ``failed`` a body
that reports an error in spite of its status.
"""

SendingFault: TypeAlias = Literal[
    "delay", "slow_drip", "reset_mid_body", "content_length_long", "content_length_short"
]
"""How the answer is sent.

``delay`` waits before the first byte; ``slow_drip`` sends ``chunk`` bytes of the body, waits, and
so on; ``reset_mid_body`` resets the connection after half the body; ``content_length_long``
promises more bytes than come, ``content_length_short`` fewer.
"""

FaultName: TypeAlias = InsteadFault | SpokenFault | SendingFault

STATUSES: tuple[StatusFault, ...] = get_args(StatusFault)
INSTEAD: tuple[InsteadFault, ...] = (*STATUSES, *get_args(get_args(InsteadFault)[-1]))
SPOKEN: tuple[SpokenFault, ...] = get_args(SpokenFault)
SENDING: tuple[SendingFault, ...] = get_args(SendingFault)
FAULTS: tuple[FaultName, ...] = (*INSTEAD, *SPOKEN, *SENDING)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        name: Which; one of `FAULTS`.
        seconds: Wait of ``delay``, and between two chunks of ``slow_drip``; both need it.
        chunk: Bytes that ``slow_drip`` sends at a time.
        retry_after: The header Retry-After: seconds, an aware datetime as HTTP date, or a text
            as it is.
        retry_after_ms: The header retry-after-ms.
        code: Error code instead of the usual one: "insufficient_quota".
        message: Error message instead of the usual one.
        generation: What the model wrote, in the error's ``failed_generation``, as Groq has it.
        headers: More headers of the response.

    Raises:
        ValueError: An unknown name, or one that needs ``seconds`` without any.
    """

    name: FaultName
    seconds: float = 0.0
    chunk: int = 4
    retry_after: float | datetime | str | None = None
    retry_after_ms: float | None = None
    code: str = ""
    message: str = ""
    generation: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in FAULTS:
            raise ValueError(f"no fault is called {self.name!r}; there are {', '.join(FAULTS)}")
        if self.name in ("delay", "slow_drip") and self.seconds <= 0:
            raise ValueError(f"{self.name} needs to know how long: Fault({self.name!r}, seconds=1)")
        if self.chunk < 1:
            raise ValueError(f"a chunk of {self.chunk} bytes would never end")

    @property
    def is_instead(self) -> bool:
        """Whether the request never reaches the model."""
        return self.name in INSTEAD

    @property
    def response_headers(self) -> dict[str, str]:
        """Headers that it adds to the response."""
        added = dict(self.headers)
        if self.retry_after is not None:
            added["retry-after"] = _retry_after(self.retry_after)
        if self.retry_after_ms is not None:
            added["retry-after-ms"] = f"{self.retry_after_ms:g}"
        return added


def _retry_after(value: float | datetime | str) -> str:
    if isinstance(value, datetime):
        return format_datetime(value.astimezone(UTC), usegmt=True)
    return value if isinstance(value, str) else f"{value:.15g}"
