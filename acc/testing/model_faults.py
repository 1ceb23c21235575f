"""Named faults between a client and a model.

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
"""Faults that replace the model's answer.

A status; ``context_overflow``, a 400 with the code context_length_exceeded; ``html_error``, a
gateway's page with status 502; ``html_page``, a page with status 200, like that of a wrong address;
``not_json``, status 200 and a JSON content type, but no JSON; ``bad_gzip``, status 200 and gzip
encoding, but no gzip; ``no_response``, the connection closes before any byte; ``hang``, nothing
until the client hangs up or the server closes.
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
"""Faults of the answer itself, with status 200.

``truncated`` is half of the answer, and ``length`` or ``incomplete``; ``empty`` an empty text;
``no_output`` no choice and no output item; ``wrong_shape`` JSON without any of the requested
fields; ``in_prose`` and ``fenced`` the answer within other text, as a message even if the client
forces a tool call; ``failed`` a body that reports an error despite its status.
"""

SendingFault: TypeAlias = Literal[
    "delay", "slow_drip", "reset_mid_body", "content_length_long", "content_length_short"
]
"""Faults of the transmission.

``delay`` waits before the first byte; ``slow_drip`` sends ``chunk`` bytes of the body, waits, and
repeats; ``reset_mid_body`` resets the connection after half of the body; ``content_length_long``
announces more bytes than it sends, ``content_length_short`` fewer.
"""

FaultName: TypeAlias = InsteadFault | SpokenFault | SendingFault

STATUSES: tuple[StatusFault, ...] = get_args(StatusFault)
INSTEAD: tuple[InsteadFault, ...] = (*STATUSES, *get_args(get_args(InsteadFault)[-1]))
SPOKEN: tuple[SpokenFault, ...] = get_args(SpokenFault)
SENDING: tuple[SendingFault, ...] = get_args(SendingFault)
FAULTS: tuple[FaultName, ...] = (*INSTEAD, *SPOKEN, *SENDING)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: One of `FAULTS`.
        seconds: Wait of ``delay``, and between two chunks of ``slow_drip``; both require it.
        chunk: Bytes that ``slow_drip`` sends at a time.
        retry_after: The header Retry-After: seconds, an aware datetime sent as an HTTP date, or a
            literal text.
        retry_after_ms: The header retry-after-ms.
        code: Error code instead of the default one, such as "insufficient_quota".
        message: Error message instead of the default one.
        generation: The model's output, sent in the error's field ``failed_generation`` as Groq
            does.
        headers: Additional headers of the response.

    Raises:
        ValueError: The name is unknown, or it requires ``seconds`` and none are given.
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
        """Whether the fault replaces the answer; the request then never reaches the model."""
        return self.name in INSTEAD

    @property
    def response_headers(self) -> dict[str, str]:
        """Headers that the fault adds to the response."""
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
