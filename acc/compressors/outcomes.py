"""What becomes of a compression: one name for each way in which it ends.

The name stands in the `Step`, in the audit record and in the table of ``acc replay``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """How a call, or a whole compression, ended. They are stored: a name is never changed."""

    # a proposal came out
    OK = "ok"
    REPAIRED = "repaired"
    SKIPPED = "skipped"
    # the model answered, and the answer is of no use
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    INVALID_JSON = "invalid_json"
    WRONG_SHAPE = "wrong_shape"
    UNKNOWN_IDS = "unknown_ids"
    ITEMS_LOST = "items_lost"
    PROMPT_ECHO = "prompt_echo"
    RULE_REFUSED = "rule_refused"
    # the endpoint did not answer
    CONTEXT_OVERFLOW = "context_overflow"
    TOO_LARGE = "too_large"
    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    MALFORMED_REPLY = "malformed_reply"
    DEADLINE = "deadline"
    # a compressor raised something of its own
    ERROR = "error"


WORTH_RETRYING = frozenset(
    {
        Outcome.TIMEOUT, Outcome.CONFLICT, Outcome.RATE_LIMITED, Outcome.SERVER_ERROR,
        Outcome.CONNECTION_REFUSED, Outcome.CONNECTION_RESET, Outcome.MALFORMED_REPLY,
    }
)  # fmt: skip
"""What the same request may not meet again a moment later."""

WORTH_REPAIRING = frozenset(
    {
        Outcome.TRUNCATED, Outcome.EMPTY, Outcome.INVALID_JSON, Outcome.WRONG_SHAPE,
        Outcome.UNKNOWN_IDS, Outcome.ITEMS_LOST, Outcome.PROMPT_ECHO, Outcome.RULE_REFUSED,
    }
)  # fmt: skip
"""What a model can mend that is told of it."""


class Account(BaseModel):
    """What a model was asked, and how it went.

    Attributes:
        outcome: How the compression ended.
        calls: The outcome of each call, in order; those that were repeated too.
        unmetered: Calls that were answered without saying what they cost.
        model: The model, as its endpoint names it.
        prompt: Version of the prompt.
        rung: How the endpoint was held to the schema (`acc.compressors.ladder`).
        left_out: Characters of each source, by ref, that the model did not get to read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Outcome
    calls: tuple[Outcome, ...] = ()
    unmetered: int = 0
    model: str = ""
    prompt: str = ""
    rung: str = ""
    left_out: dict[str, int] = {}
