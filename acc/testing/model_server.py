"""A model server on 127.0.0.1 for both OpenAI APIs, with faults on demand.

with ModelServer([Fault("429", retry_after=2), {"goal": "ship"}]) as server:
    client = openai.OpenAI(base_url=server.base_url, api_key="none")
    ...
    assert [request.format for request in server.requests] == ["json_schema"] * 2
"""

from __future__ import annotations

import hashlib
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import Any, TypeAlias

from acc.clock import Clock, SystemClock
from acc.testing.model_capabilities import Capabilities, refused
from acc.testing.model_connections import (
    HOST,
    Connections,
    Response,
    error_response,
    fault_response,
    json_response,
    sent_badly,
)
from acc.testing.model_faults import Fault
from acc.testing.model_replies import Completion, Reply, Usage, body_of, cut_to_bound, spoken
from acc.testing.model_requests import Api, Asked, Request, read_asked, read_body

BLOCK_TOKENS = 128
"""Size of a block of the prompt cache, in tokens."""

_BLOCK_BYTES = BLOCK_TOKENS * 4


class PromptCache:
    """Remembers the prompts of each model by their leading blocks.

    Tokens are UTF-8 bytes / 4. A token is cached if an earlier prompt of the same model began with
    the same bytes up to the end of the token's block. Entries never expire. Thread-safe.
    """

    def __init__(self, minimum: int = 0) -> None:
        """Set the prompt length in tokens below which the provider caches nothing."""
        self._minimum = minimum
        self._known: defaultdict[str, set[bytes]] = defaultdict(set)
        self._lock = Lock()

    def read(self, model: str, prompt: str) -> int:
        """Return the number of cached tokens of ``prompt``, and cache the prompt."""
        data = prompt.encode("utf-8", "surrogatepass")
        if len(data) < self._minimum * 4:
            return 0
        chain, digests = hashlib.sha256(), []
        for start in range(0, len(data) - _BLOCK_BYTES + 1, _BLOCK_BYTES):
            chain.update(data[start : start + _BLOCK_BYTES])
            digests.append(chain.digest())
        with self._lock:
            known = self._known[model]
            new = next((place for place, one in enumerate(digests) if one not in known), None)
            known.update(digests)
        return (len(digests) if new is None else new) * BLOCK_TOKENS


Answer: TypeAlias = Reply | Fault | str | Mapping[str, Any]
"""The result of a request: a reply, its content alone, or a fault with an empty object as content.
"""

Answers: TypeAlias = Sequence[Answer] | Callable[[Request], Answer]
Faults: TypeAlias = Sequence[Fault | None] | Callable[[Request], Fault | None]


class Script:
    """Returns answers and faults in turn. Thread-safe. Rules run in the caller's thread."""

    def __init__(self, answers: Answers, faults: Faults, *, repeats: bool) -> None:
        if repeats and not callable(answers) and not answers:
            raise ValueError("an empty script has no last answer to repeat")
        self._answers = answers if callable(answers) else tuple(answers)
        self._faults = faults if callable(faults) else tuple(faults)
        self._repeats = repeats
        self._answered = 0
        self._seen = 0
        self._lock = Lock()

    @property
    def unused(self) -> int:
        """Number of answers in the list that no request has reached; 0 for a rule."""
        return 0 if callable(self._answers) else max(0, len(self._answers) - self._answered)

    def fault(self, request: Request) -> Fault | None:
        """The fault of this request; a list has one entry per request, then none."""
        if callable(self._faults):
            return self._faults(request)
        with self._lock:
            place, self._seen = self._seen, self._seen + 1
        return self._faults[place] if place < len(self._faults) else None

    def reply(self, request: Request) -> Reply:
        """The answer to this request; a list has one entry per request that reaches the model.

        Raises:
            AssertionError: The list is exhausted.
            TypeError: The entry is no answer.
        """
        if callable(self._answers):
            return _as_reply(self._answers(request))
        with self._lock:
            place, self._answered = self._answered, self._answered + 1
        if place >= len(self._answers) and not self._repeats:
            raise AssertionError(
                f"the script has {len(self._answers)} answers, and this is call {place + 1} "
                f"of the model, in request {request.number}"
            )
        return _as_reply(self._answers[min(place, len(self._answers) - 1)])


def _as_reply(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Fault):
        return Reply(fault=answer)
    if isinstance(answer, str | Mapping):
        return Reply(answer)
    raise TypeError(f"a {type(answer).__name__} is no answer; wrap JSON values in Reply(...)")


_APIS: dict[tuple[str, str], Api] = {
    ("POST", "/v1/chat/completions"): "chat",
    ("POST", "/v1/responses"): "responses",
    ("GET", "/v1/models"): "models",
}


class ModelServer:
    """Answers POST /v1/chat/completions, POST /v1/responses (neither streams) and GET /v1/models.

    The server listens on a free port of 127.0.0.1 from its creation until it is closed. A thread
    serves each connection. An answer is a message, or a call of the tool that the client forces.
    The server truncates it at the client's limit of output tokens. Without usage in the `Reply`,
    the server counts UTF-8 bytes / 4 of `Asked.prompt` and of the answer, and takes cached tokens
    from `PromptCache`.

    Attributes:
        base_url: The address for clients: ``http://127.0.0.1:PORT/v1``.
        defects: Errors of the test itself: an exhausted script, or a rule that raised. Such a
            request gets a 400, and leaving the context raises the first defect.
    """

    def __init__(
        self,
        answers: Answers = (),
        *,
        faults: Faults = (),
        capabilities: Capabilities | None = None,
        repeats: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """Start the server.

        Args:
            answers: A list with one entry per request that reaches the model, or a function of the
                `Request`, which runs in the thread of each connection.
            faults: A list with one entry per request, None for no fault, or a function of the
                `Request`. Without an entry there is no fault. A fault that replaces an answer
                leaves the answer to the next request. Any other fault replaces the fault of the
                `Reply`.
            capabilities: The endpoint's capabilities; everything by default.
            repeats: Repeat the last answer of a list.
            clock: Source of the times of requests and answers.

        Raises:
            ValueError: ``repeats`` is set and the list is empty.
        """
        self._script = Script(answers, faults, repeats=repeats)
        self._can = capabilities or Capabilities()
        self._clock = clock or SystemClock()
        self._cache = PromptCache(self._can.cache_minimum)
        self._lock = Lock()
        self._requests: list[Request] = []
        self.defects: list[BaseException] = []
        self._connections = Connections(self._respond)
        self.base_url = f"http://{HOST}:{self._connections.port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def unused(self) -> int:
        """Number of answers in the list that no request has reached."""
        return self._script.unused

    @staticmethod
    @contextmanager
    def refused() -> Iterator[str]:
        """A base URL with a reserved port that refuses connections."""
        with socket.socket() as held:
            held.bind((HOST, 0))
            yield f"http://{HOST}:{held.getsockname()[1]}/v1"

    def close(self) -> None:
        """Stop the server and abort open requests. Further calls have no effect."""
        self._connections.close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None and self.defects:
            raise self.defects[0]

    def _respond(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Response:
        with self._lock:
            request = self._received(method, path, headers, raw)
        try:
            response = self._answered(request)
        # raised by the test's own rule, for instance by pytest.fail()
        except BaseException as defect:
            self.defects.append(defect)
            response = error_response(400, f"{type(defect).__name__}: {defect}", "defect")
        named = {"x-request-id": f"req_{request.number}", **response.headers}
        return replace(response, headers=named)

    def _received(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Request:
        api = _APIS.get((method, path.partition("?")[0]), "other")
        body, asked, malformed = {}, Asked(), ""
        if api in ("chat", "responses"):
            try:
                body = dict(read_body(raw))
                asked = read_asked(api, body)
            except (ValueError, KeyError, RecursionError) as error:
                malformed = str(error)
        request = Request(
            **vars(asked),
            number=len(self._requests) + 1,
            at=self._clock.seconds(),
            api=api,
            path=path,
            headers=headers,
            raw=raw,
            body=body,
            malformed=malformed,
        )
        self._requests.append(request)
        return request

    def _answered(self, request: Request) -> Response:
        calls_model = request.api in ("chat", "responses")
        fault = self._script.fault(request) if calls_model else None
        if fault is not None and fault.is_instead:
            return fault_response(fault)
        turned_away = refused(request, self._can)
        if turned_away is not None:
            return sent_badly(turned_away, fault)
        if not calls_model:
            return json_response(200, _listed(self._can.models or ("test-model",)))
        reply = self._script.reply(request)
        reply = reply if fault is None else replace(reply, fault=fault)
        return self._completed(request, reply)

    def _completed(self, request: Request, reply: Reply) -> Response:
        fault: Fault | None = reply.fault
        if fault is not None and fault.is_instead:
            return fault_response(fault)
        calls = request.format == "tool" and self._can.knows("tool")
        said = Completion(reply.text, tool=request.schema_name if calls else "")
        said = spoken(cut_to_bound(said, request.max_output_tokens), fault)
        cached = self._cache.read(request.model, request.prompt)
        usage = reply.usage or Usage(request.input_tokens, said.output_tokens, cached)
        created = int(self._clock.now().timestamp())
        body = body_of(replace(said, usage=usage), request, created)
        return sent_badly(json_response(200, body), fault)


def _listed(models: tuple[str, ...]) -> dict[str, object]:
    listed = [{"id": m, "object": "model", "created": 0, "owned_by": "acc"} for m in models]
    return {"object": "list", "data": listed}
