"""``acc doctor --endpoint``: finds the strictest output mode an endpoint supports, and its faults."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from acc.cli.doctor import Finding, finding_of, told
from acc.compress.answers import NoJson, json_in
from acc.compress.endpoint import LATER, Ask, Call, CallFailed, Ledger, Message, Reply, within
from acc.compress.failures import no_such_model
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

    Args:
        endpoint: The model.
        seconds: Time limit of each call.

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
    room = endpoint.known.room
    call = Call(Ask(_MESSAGES, _SCHEMA, _ROOM), rung, room)
    try:
        return _judged(rung, _asked(endpoint, call, seconds, ledger))
    except CallFailed as failure:
        is_of_an_answer = failure.outcome in WORTH_REPAIRING
        other = call if is_of_an_answer else next_call(call, failure, proven=False)
        if other is None or other.rung != rung:
            return Tried(rung, failure.outcome, failure.detail)
    try:
        reply = _asked(endpoint, other, seconds, ledger)
    except CallFailed as failure:
        return Tried(rung, failure.outcome, failure.detail)
    endpoint.known.room = other.room
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


Api = Literal["chat", "responses"]

SLOW = 15.0
"""Seconds for the probe's answer above which a compression may miss its deadline."""

MENDS: Mapping[Outcome, str] = {
    Outcome.CONNECTION_REFUSED: "start the server, or correct host and port of the address",
    Outcome.CONNECTION_RESET: "look at the server's own log; a proxy in between may cut connections off",
    Outcome.MALFORMED_REPLY: "something else answers at this address: it has to be that of the API, "
    "and mostly ends in /v1",
    Outcome.NOT_FOUND: "let the address end in /v1; where there is no such API, try the other (--api)",
    Outcome.RATE_LIMITED: "wait, raise the limit, or see to the account's quota",
    Outcome.SERVER_ERROR: "the server fails: look at its own log, and try again",
    Outcome.TIMEOUT: "the endpoint is too slow or overloaded: a smaller model, or more --seconds",
    Outcome.DEADLINE: "the endpoint is too slow or overloaded: a smaller model, or more --seconds",
    Outcome.TRUNCATED: "the model used its room up, as those that reason at length do: give it a larger "
    "max_output_tokens, or have it reason less",
    Outcome.REFUSAL: "the model refuses a harmless question: name another",
    Outcome.CONTENT_FILTER: "the provider's filter stops a harmless question: see its settings",
    Outcome.EMPTY: "the model answers nothing: is it a chat model, with its chat template?",
    Outcome.WRONG_SHAPE: "the model does not keep to a schema, not even as text: name a stronger one",
    Outcome.BAD_REQUEST: "the endpoint refuses any request: see what it says",
}
_TLS = re.compile(r"\b(?:SSL|TLS|certificate)", re.IGNORECASE)
_MEND_TLS = (
    "let the address begin with http:// where the server speaks no TLS; else give this machine the "
    "certificate of who signed the server's (SSL_CERT_FILE)"
)
_ADDRESS = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):(?:\d+/|\d{4,5}$)|[^:]+/v1/?$")
"""Matches an address without a scheme: host and port, or a text that ends in /v1.

"llama3:8b" and "org/model" do not match: they name models.
"""

_REFUSED = (Outcome.BAD_REQUEST, Outcome.NOT_FOUND)


def examine_endpoint(
    endpoint: str,
    *,
    model: str = "",
    api: Api = "chat",
    seconds: float = 60.0,
    as_json: bool = False,
) -> None:
    """Ask an endpoint a small question in each output mode, and print the findings.

    The modes come strictest first; the first one that works is the last one tried.

    Args:
        endpoint: Its address, or the name of a model at OPENAI_BASE_URL.
        model: The model's name if ``endpoint`` is an address; by default the first model listed.
        api: Chat completions, or responses.
        seconds: Time limit of each call.
        as_json: Write JSON to stdout.

    Raises:
        AccError: The endpoint is unusable as it is. All findings were printed before.
    """
    told(list(_findings(endpoint, model, api, seconds)), as_json=as_json)


def _findings(endpoint: str, model: str, api: Api, seconds: float) -> Iterator[Finding]:
    from acc.compress.openai import OpenAIEndpoint

    if not endpoint:
        what = f"no endpoint is named for the model {model!r}"
        yield Finding("bad", what, "acc doctor --endpoint MODEL asks OPENAI_BASE_URL")
        return
    if _ADDRESS.match(endpoint):
        what = f"{endpoint!r} is no model's name, but an address without its beginning"
        yield Finding("bad", what, f"--endpoint http://{endpoint}, or https://")
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
        yield finding_of(error)
        return
    yield from map(_of_rung, found.tried[:-1])
    yield _of_end(found)
    if found.rung is None:
        return
    if not found.usage:
        yield Finding("note", "it does not say what calls cost in tokens", "money is not counted")
    yield _of_speed(took)


def _client(url: str) -> OpenAI:
    import openai

    from acc.compress.failures import no_client

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
    from acc.compress.failures import translated

    where = str(client.base_url)
    try:
        listed = [model.id for model in client.models.list().data or ()]
    except Exception as error:
        meant = translated(error, where)
        if isinstance(meant, AccError):
            raise meant from error
        hint = _mend(meant.outcome, meant.detail, "name the model (--model NAME)")
        raise ConfigurationError(
            f"the endpoint does not list its models: {meant.outcome.value}: {meant.detail}",
            where=where,
            hint=hint,
        ) from error
    if not listed:
        raise no_such_model(where, "it lists none")
    return listed[0]


def _mend(outcome: Outcome, detail: str, otherwise: str) -> str:
    is_tls = outcome is Outcome.CONNECTION_REFUSED and _TLS.search(detail)
    return _MEND_TLS if is_tls else MENDS.get(outcome, otherwise)


def _of_rung(tried: Tried) -> Finding:
    """Describe an output mode that the endpoint does not support."""
    said = "refused" if tried.outcome in _REFUSED else tried.outcome.value
    if tried.outcome is Outcome.WRONG_SHAPE:
        return Finding("note", f"{tried.rung.value}: {tried.detail}")
    return Finding("note", f"{tried.rung.value}: {said}: {tried.detail}")


def _of_end(found: Probe) -> Finding:
    if found.rung is None:
        last = found.tried[-1]
        hint = _mend(last.outcome, last.detail, "see what it says, and the server's own log")
        return Finding("bad", found.in_words, hint)
    said = f"{found.where}: {IN_WORDS[found.rung]}"
    if found.rung in (OutputMode.JSON_SCHEMA, OutputMode.TOOL):
        return Finding("ok", said)
    return Finding(
        "note", said,
        "it works; where the server can hold models to a JSON schema (vLLM, llama.cpp and Ollama "
        "can), switch that on: replies that do not fit cost a repair",
    )  # fmt: skip


def _of_speed(seconds: float) -> Finding:
    said = f"a call took {seconds:.1f} s"
    if seconds <= SLOW:
        return Finding("ok", said)
    return Finding(
        "note", f"{said}; a compression reads and writes far more",
        "a smaller model, a longer deadline (120 s by default), or commits behind the agent "
        "(acc.background)",
    )  # fmt: skip
