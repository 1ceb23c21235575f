"""``acc doctor --endpoint``: finds the strictest output mode that an endpoint supports."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.cli.doctor import Api, Finding
from acc.compress.answers import NoJson, json_in
from acc.compress.endpoint import LATER, Ask, Call, CallFailed, Ledger, Message, Reply, within
from acc.compress.failures import no_client, no_such_model, translated
from acc.compress.openai import OpenAIEndpoint
from acc.compress.openai_calls import IN_WORDS, REFUSED, RUNGS, OutputMode, next_call
from acc.errors import AccError, ConfigurationError
from acc.state.proposal import WORTH_REPAIRING, Outcome

if TYPE_CHECKING:
    from openai import OpenAI


_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["greeting", "letters"],
    "additionalProperties": False,
}
_MESSAGES = (
    Message("system", "You greet people in French. Where JSON is asked for, you answer in JSON."),
    Message("user", "Greet me with one word, and tell how many letters it has."),
)
_ROOM = 1_024
_GO_ON = (Outcome.WRONG_SHAPE, Outcome.INVALID_JSON, *REFUSED)


class Tried(NamedTuple):
    """The result of one output mode.

    ``outcome`` is OK, a failure, or WRONG_SHAPE if the endpoint ignored the schema.
    """

    rung: OutputMode
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Probe:
    """The result of probing an endpoint.

    Attributes:
        where: Model and address.
        rung: The strictest output mode that the endpoint obeys; None if it obeys none.
        tried: The results of all modes tried, strictest first.
        usage: Tokens that the probe used, by kind.
    """

    where: str
    rung: OutputMode | None
    tried: tuple[Tried, ...]
    usage: Mapping[str, int]

    @property
    def in_words(self) -> str:
        """The result in one line."""
        if self.rung is not None:
            return f"{self.where}: {IN_WORDS[self.rung]}"
        last = self.tried[-1]
        return f"{self.where}: no usable answer ({last.outcome.value}: {last.detail})"


def probe(endpoint: OpenAIEndpoint, seconds: float = 60.0) -> Probe:
    """Try the output modes, strictest first, until one works, and record that mode on ``endpoint``.

    Raises:
        ConfigurationError: The key, the model or the address is wrong.
    """
    ledger = Ledger()
    tried: list[Tried] = []
    for rung in RUNGS:
        tried.append(_tried(endpoint, rung, seconds, ledger))
        if tried[-1].outcome is Outcome.OK:
            endpoint.known.rung, endpoint.known.proven = rung, True
            break
        if tried[-1].outcome not in _GO_ON:
            break
    kept = tried[-1].rung if tried[-1].outcome is Outcome.OK else None
    return Probe(endpoint.where, kept, tuple(tried), dict(ledger.usage))


def _tried(endpoint: OpenAIEndpoint, rung: OutputMode, seconds: float, ledger: Ledger) -> Tried:
    begun = call = endpoint.call(Ask(_MESSAGES, _SCHEMA, _ROOM), rung)
    is_repeated = False
    while True:
        try:
            reply = _asked(endpoint, call, seconds, ledger)
        except CallFailed as failure:
            is_of_an_answer = failure.outcome in WORTH_REPAIRING and not is_repeated
            is_repeated |= is_of_an_answer
            other = call if is_of_an_answer else next_call(call, failure, proven=False)
            if other is None or other.rung != rung:
                return Tried(rung, failure.outcome, failure.detail)
            call = other
        else:
            endpoint.known.refused |= set(begun.optional) - set(call.optional)
            return _judged(rung, reply)


def _asked(endpoint: OpenAIEndpoint, call: Call, seconds: float, ledger: Ledger) -> Reply:
    return ledger.answered(within(seconds, partial(endpoint.send, call, seconds + LATER)))


def _judged(rung: OutputMode, reply: Reply) -> Tried:
    if reply.outcome is not Outcome.OK:
        return Tried(rung, reply.outcome, reply.detail)
    try:
        value = json_in(reply.text, ("greeting", "letters"))
    except NoJson:
        value = None
    kept = isinstance(value, Mapping) and set(value) == {"greeting", "letters"}
    if kept and isinstance(value["greeting"], str) and isinstance(value["letters"], int):
        return Tried(rung, Outcome.OK)
    return Tried(rung, Outcome.WRONG_SHAPE, f"accepted and ignored: {reply.text[:100]!r}")


SLOW = 15.0
"""Seconds for the probe's answer above which a compression may miss its deadline."""

HINTS: Mapping[Outcome, str] = {
    Outcome.CONNECTION_REFUSED: "start the server, or correct the host and port of the address",
    Outcome.CONNECTION_RESET: "read the server's log; a proxy in between may close connections",
    Outcome.MALFORMED_REPLY: "correct the address: another program answers there. The address of "
    "an API usually ends in /v1",
    Outcome.NOT_FOUND: "let the address end in /v1, or try the other API with --api",
    Outcome.RATE_LIMITED: "wait, raise the rate limit, or check the account's quota",
    Outcome.SERVER_ERROR: "read the server's log, and try again",
    Outcome.TIMEOUT: "use a smaller model, or allow more --seconds: the endpoint is too slow",
    Outcome.DEADLINE: "use a smaller model, or allow more --seconds: the endpoint is too slow",
    Outcome.TRUNCATED: "raise max_output_tokens, or let the model reason less: it reached its limit",
    Outcome.REFUSAL: "use another model: this one refuses a harmless question",
    Outcome.CONTENT_FILTER: "change the provider's filter settings: they block a harmless question",
    Outcome.EMPTY: "use a chat model with a chat template: the answer is empty",
    Outcome.WRONG_SHAPE: "use a stronger model: this one does not follow a JSON schema",
    Outcome.BAD_REQUEST: "read the endpoint's message: it refuses every request",
}
_TLS = re.compile(r"\b(?:SSL|TLS|certificate)", re.IGNORECASE)
_TLS_HINT = (
    "let the address begin with http:// if the server does not use TLS; otherwise install the "
    "certificate of the server's issuer on this machine (SSL_CERT_FILE)"
)
_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):(?:\d+/|\d{4,5}$)|[^:]+/v1/?$")
"""Matches an address without a scheme: host and port, or a text that ends in /v1.

"llama3:8b" and "org/model" do not match: they name models.
"""

_REFUSED = (Outcome.BAD_REQUEST, Outcome.NOT_FOUND)


def check_endpoint(endpoint: str, model: str, api: Api, seconds: float) -> Iterator[Finding]:
    """Ask an endpoint a small question in each output mode, strictest first, until one works.

    ``endpoint`` is its address, or the name of a model at OPENAI_BASE_URL. At an address the ``model`` is by
    default the first one listed.
    """
    if not endpoint:
        what = f"--model {model} needs the URL of an endpoint"
        hint = f"add --endpoint URL, or use --endpoint {model} for the model at OPENAI_BASE_URL"
        yield Finding("bad", what, hint)
        return
    if _ADDRESS.match(endpoint):
        what = f"the address {endpoint!r} does not begin with http:// or https://"
        yield Finding("bad", what, f"use --endpoint http://{endpoint}, or https://{endpoint}")
        return
    url = endpoint if "://" in endpoint else ""
    name = model or ("" if url else endpoint.removeprefix("openai:"))
    try:
        client = _client(url)
        name = name or _first_listed(client)
        asked = OpenAIEndpoint(name, client=client, api=api)
        started = time.perf_counter()
        found = probe(asked, seconds)
        took = (time.perf_counter() - started) / len(found.tried)
    except ConfigurationError as error:
        yield Finding.of_error(error)
        return
    yield from map(_unsupported, found.tried[:-1])
    yield _result(found)
    if found.rung is None:
        return
    if not found.usage:
        what = "the endpoint does not report used tokens: acc cannot count what calls cost"
        yield Finding("note", what)
    yield _speed(took)


def _client(url: str) -> OpenAI:
    import openai

    # Most self-hosted servers need no key, but the SDK requires one.
    key: dict[str, Any] = {} if os.environ.get("OPENAI_API_KEY") or not url else {"api_key": "none"}
    try:
        return openai.OpenAI(base_url=url or None, max_retries=0, **key)
    except openai.OpenAIError as error:
        raise no_client(error, "acc doctor") from error


def _first_listed(client: OpenAI) -> str:
    """The first model that the endpoint lists.

    Raises:
        ConfigurationError: The endpoint lists no model, or does not answer.
    """
    where = str(client.base_url)
    try:
        listed = [model.id for model in client.models.list().data or ()]
    except Exception as error:
        meant = translated(error, where)
        if isinstance(meant, AccError):
            raise meant from error
        hint = _hint(meant.outcome, meant.detail, "name the model with --model")
        raise ConfigurationError(
            f"the endpoint does not list its models: {meant.outcome.value}: {meant.detail}",
            where=where,
            hint=hint,
        ) from error
    if not listed:
        raise no_such_model(where, "it lists none")
    return listed[0]


def _hint(outcome: Outcome, detail: str, otherwise: str) -> str:
    is_tls = outcome is Outcome.CONNECTION_REFUSED and _TLS.search(detail)
    return _TLS_HINT if is_tls else HINTS.get(outcome, otherwise)


def _unsupported(tried: Tried) -> Finding:
    """Describe an output mode that the endpoint does not support."""
    if tried.outcome is Outcome.WRONG_SHAPE:
        return Finding("note", f"output mode {tried.rung.value}: {tried.detail}")
    outcome = "refused" if tried.outcome in _REFUSED else tried.outcome.value
    return Finding("note", f"output mode {tried.rung.value}: {outcome}: {tried.detail}")


def _result(found: Probe) -> Finding:
    if found.rung is None:
        last = found.tried[-1]
        hint = _hint(last.outcome, last.detail, "read the endpoint's message and the server's log")
        return Finding("bad", found.in_words, hint)
    if found.rung in (OutputMode.JSON_SCHEMA, OutputMode.TOOL):
        return Finding("ok", found.in_words)
    return Finding(
        "note", found.in_words,
        "nothing has to change. If the server can enforce a JSON schema (vLLM, llama.cpp and Ollama "
        "can), switch that on: each reply that does not fit costs another call",
    )  # fmt: skip


def _speed(seconds: float) -> Finding:
    what = f"a call took {seconds:.1f} s"
    if seconds <= SLOW:
        return Finding("ok", what)
    return Finding(
        "note", f"{what}; a compression reads and writes far more",
        "use a smaller model, a longer deadline (default 120 s), or commits in the background "
        "(acc.background)",
    )  # fmt: skip
