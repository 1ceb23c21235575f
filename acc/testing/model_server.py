"""A model server on 127.0.0.1 for both OpenAI APIs, with faults on demand.

with ModelServer([Fault("429", retry_after=2), {"goal": "ship"}]) as server:
    client = openai.OpenAI(base_url=server.base_url, api_key="none")
    ...
    assert [request.format for request in server.requests] == ["json_schema"] * 2
"""

from __future__ import annotations

import hashlib
import json
import math
import socket
import socketserver
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

from acc.clock import Clock, SystemClock
from acc.testing.model_api import (
    Api,
    Completion,
    Request,
    Response,
    Usage,
    body_of,
    cut_to_limit,
    error_response,
    json_response,
    read_request,
)  # fmt: skip
from acc.testing.model_faults import (
    Capabilities,
    Fault,
    answer_with_fault,
    fault_response,
    rejection,
    with_fault,
)  # fmt: skip

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


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        content: A text, or a JSON value to send as text.
        usage: Tokens to bill; None counts them like `ModelServer`.
        fault: A fault of the answer; None for none.
    """

    content: Any = field(default_factory=dict)
    usage: Usage | None = None
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False)


Answer: TypeAlias = Reply | Fault | str | Mapping[str, Any]
"""The result of a request: a reply, its content alone, or a fault with an empty object as content.
"""

Answers: TypeAlias = Sequence[Answer] | Callable[[Request], Answer]
Faults: TypeAlias = Sequence[Fault | None] | Callable[[Request], Fault | None]


class _Script:
    """Returns answers and faults in turn. Thread-safe. Functions run in the caller's thread."""

    def __init__(self, answers: Answers, faults: Faults, *, repeats: bool) -> None:
        if repeats and not callable(answers) and not answers:
            raise ValueError("an empty script has no last answer to repeat")
        self._answers = answers if callable(answers) else tuple(answers)
        self._faults = faults if callable(faults) else tuple(faults)
        self._repeats = repeats
        self._answered = 0
        self._faulted = count()
        self._lock = Lock()

    @property
    def unused(self) -> int:
        return 0 if callable(self._answers) else max(0, len(self._answers) - self._answered)

    def fault(self, request: Request) -> Fault | None:
        if callable(self._faults):
            return self._faults(request)
        place = next(self._faulted)
        return self._faults[place] if place < len(self._faults) else None

    def reply(self, request: Request) -> Reply:
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
    raise TypeError(f"{type(answer).__name__} is not an answer; wrap JSON values in Reply(...)")


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
    the server counts UTF-8 bytes / 4 of `Request.prompt` and of the answer, and takes cached tokens
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
        self._script = _Script(answers, faults, repeats=repeats)
        self._can = capabilities or Capabilities()
        self._clock = clock or SystemClock()
        self._cache = PromptCache(self._can.cache_minimum)
        self._lock = Lock()
        self._requests: list[Request] = []
        self.defects: list[BaseException] = []
        self._listener = _Listener(self._respond)
        self.base_url = f"http://{HOST}:{self._listener.port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def unused(self) -> int:
        """Number of answers in the list that no request has reached; 0 for a function."""
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
        self._listener.close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, _: object, error: BaseException | None, *rest: object) -> None:
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
        request = read_request(
            _APIS.get((method, path.partition("?")[0]), "other"), raw, path=path, headers=headers,
            number=len(self._requests) + 1, at=self._clock.seconds(),
        )  # fmt: skip
        self._requests.append(request)
        return request

    def _answered(self, request: Request) -> Response:
        calls_model = request.api in ("chat", "responses")
        fault = self._script.fault(request) if calls_model else None
        if fault is not None and fault.replaces_answer:
            return fault_response(fault)
        rejected = rejection(request, self._can)
        if rejected is not None:
            return with_fault(rejected, fault)
        if not calls_model:
            models = self._can.models or ("test-model",)
            listed = [{"id": m, "object": "model", "created": 0, "owned_by": "acc"} for m in models]
            return json_response(200, {"object": "list", "data": listed})
        reply = self._script.reply(request)
        return self._completed(request, reply, fault or reply.fault)

    def _completed(self, request: Request, reply: Reply, fault: Fault | None) -> Response:
        if fault is not None and fault.replaces_answer:
            return fault_response(fault)
        calls = request.format == "tool" and self._can.knows("tool")
        answer = Completion(reply.text, tool=request.schema_name if calls else "")
        answer = answer_with_fault(cut_to_limit(answer, request.max_output_tokens), fault)
        cached = self._cache.read(request.model, request.prompt)
        usage = reply.usage or Usage(request.input_tokens, answer.output_tokens, cached)
        created = int(self._clock.now().timestamp())
        body = body_of(replace(answer, usage=usage), request, created)
        return with_fault(json_response(200, body), fault)


HOST = "127.0.0.1"

_Respond: TypeAlias = Callable[[str, str, dict[str, str], bytes], Response]
"""A function of method, path, headers with lower-case names, and body. Many threads call it."""


class _Listener(socketserver.TCPServer):
    """Listens on a free port until closed. A thread serves each connection."""

    request_queue_size = 128

    def __init__(self, respond: _Respond) -> None:
        self.respond = respond
        self.closing = Event()
        self._lock = Lock()
        self._served: dict[socket.socket, Thread] = {}
        super().__init__((HOST, 0), _Handler)
        self.port = int(self.server_address[1])
        self._accepting = Thread(target=self._accept, name="model server", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Abort every connection. Returns when no thread and no socket is left."""
        self.closing.set()
        if self._accepting.is_alive():
            with socket.create_connection((HOST, self.port)):  # wakes the accepting thread
                self._accepting.join()
        self.server_close()
        with self._lock:
            served, self._served = self._served, {}
        for connection, thread in served.items():
            with suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _accept(self) -> None:
        while not self.closing.is_set():
            self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        serving = Thread(target=self._serve, args=(request, client_address), daemon=True)
        with self._lock:
            self._served = {one: by for one, by in self._served.items() if by.is_alive()}
            self._served[request] = serving
            serving.start()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            with suppress(OSError):  # the client hung up, or the server closes
                self.finish_request(request, client_address)
        finally:
            self.shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # each chunk of a drip must arrive on its own
    server: _Listener

    def do_POST(self) -> None:
        self._exchange()

    def do_GET(self) -> None:
        self._exchange()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server records the requests."""

    def _exchange(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.respond(self.command, self.path, headers, raw)
        goes_on = send(self.connection, response, self.server.closing)
        self.close_connection |= not goes_on
        if response.end == "reset":
            # a later shutdown by the listener would end the connection cleanly
            self.connection.close()


_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with timeout 0: closing sends RST instead of FIN."""


def send(connection: socket.socket, response: Response, closing: Event) -> bool:
    """Send ``response``; False if the connection is no longer usable.

    A wait ends when ``closing`` is set and the connection is shut down, or when the client hangs
    up. Raises OSError if the client has disconnected.
    """
    if response.delay and _is_left(connection, response.delay, closing):
        return False
    if response.bytes_sent == -1:
        return False
    if not response.chunk:
        connection.sendall(response.head + response.body[: response.bytes_sent])
        if response.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return response.end == "keep"
    connection.sendall(response.head)
    for start in range(0, len(response.body), response.chunk):
        connection.sendall(response.body[start : start + response.chunk])
        if _is_left(connection, response.every, closing):
            return False
    return True


def _is_left(connection: socket.socket, seconds: float, closing: Event) -> bool:
    """Wait for ``seconds``. Returns True at once if the client hangs up or the server closes."""
    if closing.is_set():
        return True
    connection.settimeout(None if math.isinf(seconds) else seconds)
    try:
        received = connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return closing.is_set()
    finally:
        connection.settimeout(None)
    if not received:
        return True
    # the client has sent its next request
    return closing.wait(None if math.isinf(seconds) else seconds)
