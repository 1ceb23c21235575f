"""Logs all prompts and replies of a live evaluation, and answers repeated calls from the log.

The log is the only record of a live evaluation: everything else follows from the replies. Running
the same evaluation again resumes it: known calls are answered from the log and not paid again. A
budget limits the calls.

The file has one JSON object per line. The first line holds the configuration, ``schema`` lines hold
the schemas of answers, and each ``call`` line holds one call.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from acc.errors import CompressionError, ConfigurationError, EvaluationError
from acc.folders import PRIVATE_FILE, opened_private, private_folder
from acc.models.protocol import ChatModel, Completion, Messages, Schema, Usage
from acc.text.lines import canonical_json
from acc.text.tokens import utf8_quarter
from acc_eval.asking import WITHHELD
from acc_eval.price import Price

Record = dict[str, Any]

MOST_WRITTEN = 4_000
"""Tokens that an answer is expected to take at most if its request names no limit, as a compressor's."""


class CallLog(AbstractContextManager["CallLog"]):
    """An append-only JSONL file that one process may open. Thread-safe.

    Only the offsets of the records are in memory.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        """Open the log, or create it with its folder. ``configuration`` holds plain JSON values.

        Raises:
            EvaluationError: Another process has the log open, the file is unreadable or unwritable,
                or it is not a log.
            ConfigurationError: The log has another configuration.
        """
        self._path = path
        self._mutex = Lock()
        self._places: dict[str, tuple[int, int]] = {}
        self._schemas: set[str] = set()
        self._lock = FileLock(f"{path}.lock", mode=PRIVATE_FILE)
        try:
            private_folder(path.parent)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise EvaluationError(
                "another process is writing this log",
                where=str(path),
                hint="wait until it ends, or choose another file with --log",
            ) from error
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._file = opened_private(path, "a+b")
            self._begin(configuration)
        except BaseException as error:
            self._lock.release()
            raise self._failed(error) if isinstance(error, OSError) else error from None

    def find(self, key: str) -> Record | None:
        """The record of a call; None if there is none."""
        with self._mutex:
            place = self._places.get(key)
            return None if place is None else self._record(*place)

    def add_call(self, key: str, record: Record, schema: Mapping[str, Any]) -> None:
        """Write a call, and its schema if it is new."""
        name = hashlib.sha256(canonical_json(schema).encode()).hexdigest()[:16]
        with self._mutex:
            if name not in self._schemas:
                self._write({"kind": "schema", "id": name, "schema": dict(schema)})
                self._schemas.add(name)
            record = {"kind": "call", "key": key, "schema": name, **record}
            self._places[key] = self._write(record)

    def calls(self) -> Iterator[Record]:
        """Every call, in the order of writing."""
        for place in list(self._places.values()):
            with self._mutex:
                record = self._record(*place)
            yield record

    def close(self) -> None:
        """Release the file. Safe to repeat."""
        self._file.close()
        self._lock.release()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, configuration: Mapping[str, Any]) -> None:
        written = self._read()
        plain = json.loads(json.dumps(configuration))
        if written is None:
            self._write({"kind": "configuration", **plain})
        elif differing := [k for k in {**plain, **written} if plain.get(k) != written.get(k)]:
            raise ConfigurationError(
                f"the log has other settings: {', '.join(sorted(differing))}",
                where=str(self._path),
                hint="use the same settings, or choose another file with --log",
            )

    def _read(self) -> Record | None:
        """Index the existing records. Removes a torn last line of a killed process."""
        self._file.seek(0)
        end, configuration = 0, None
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(end)
                break
            record = _parsed(line, self._path)
            kind = record.pop("kind", None)
            if configuration is None and kind != "configuration":
                raise _no_log(self._path)
            if kind == "configuration":
                configuration = record
            elif kind == "schema":
                self._schemas.add(record["id"])
            elif kind == "call":
                self._places[record["key"]] = (end, len(line))
            end += len(line)
        return configuration

    def _record(self, start: int, length: int) -> Record:
        self._file.seek(start)
        return _parsed(self._file.read(length), self._path)

    def _write(self, record: Record) -> tuple[int, int]:
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        try:
            place = self._file.seek(0, 2)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from error
        return place, len(line)

    def _failed(self, error: OSError) -> EvaluationError:
        return EvaluationError(
            f"the log cannot be written: {error.strerror or error}",
            where=str(self._path),
            hint="free disk space or choose another file, and run the command again",
        )


def _parsed(line: bytes, path: Path) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise _no_log(path) from error
    if not isinstance(record, dict):
        raise _no_log(path)
    return record


def _no_log(path: Path) -> EvaluationError:
    hint = "choose another file with --log; this file is not changed"
    return EvaluationError("the file is not a log of an evaluation", where=str(path), hint=hint)


class BudgetReached(EvaluationError):
    """The next call could exceed the budget. The log keeps all completed calls."""


@dataclass(frozen=True)
class Budget:
    """Spending limits, which include earlier runs of the same log.

    Attributes:
        tokens: Maximum input and output tokens of all models; None for no limit.
        money: Maximum cost in the currency of the prices; None for no limit.
        prices: Price of the model of each role.
    """

    tokens: int | None = None
    money: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)

    def check(self, roles: set[str]) -> None:
        """Raise a ConfigurationError if money is limited and a role has no price."""
        unpriced = sorted(roles - set(self.prices))
        if self.money is not None and unpriced:
            raise ConfigurationError(
                f"money is limited, and the model for {', '.join(unpriced)} has no price",
                where="--budget-money",
                hint=f"add --price {unpriced[0]}=INPUT,OUTPUT per million tokens",
            )

    def money_of(self, role: str, usage: Mapping[str, int]) -> float:
        """The cost of ``usage``; 0 if the role has no price."""
        price = self.prices.get(role)
        return price.of(Usage(**usage)) if price is not None else 0.0


class Spending:
    """Counts spending and enforces a budget. Thread-safe.

    Each call first reserves its maximum cost. Concurrent calls therefore cannot exceed the budget
    together. The input is estimated as UTF-8 bytes / 4 plus a tenth.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._mutex = Lock()
        self._reserved_tokens = 0
        self._reserved_money = 0.0
        self.usage: Counter[str] = Counter()
        self.money = 0.0
        self.calls: Counter[str] = Counter()
        self._played_tokens = 0
        self._played_money = 0.0

    @property
    def tokens(self) -> int:
        """Input and output tokens spent."""
        return _tokens(self.usage)

    @contextmanager
    def reserved(self, role: str, usage: Mapping[str, int]) -> Iterator[None]:
        """Reserve ``usage`` during a call. Raises BudgetReached if the rest is too small."""
        tokens, money = _tokens(usage), self.budget.money_of(role, usage)
        with self._mutex:
            self._check(tokens, money)
            self._reserved_tokens += tokens
            self._reserved_money += money
        try:
            yield
        finally:
            with self._mutex:
                self._reserved_tokens -= tokens
                self._reserved_money -= money

    def spent(self, role: str, usage: Mapping[str, int]) -> None:
        """Count a paid call."""
        with self._mutex:
            self.usage.update(usage)
            self.money += self.budget.money_of(role, usage)
            self.calls[role] += 1

    def played(self, role: str, usage: Mapping[str, int]) -> None:
        """Count a call of the turns so far, whether this run or an earlier one paid for it."""
        with self._mutex:
            self._played_tokens += _tokens(usage)
            self._played_money += self.budget.money_of(role, usage)

    def expected(self, share: float) -> tuple[int, float]:
        """Extrapolate tokens and cost of the evaluation from the completed ``share`` of turns.

        The result is at least the spending so far.
        """
        with self._mutex:
            tokens, money = round(self._played_tokens / share), self._played_money / share
            return max(self.tokens, tokens), max(self.money, money)

    def _check(self, tokens: int, money: float) -> None:
        limit, left = self.budget.tokens, 0.0
        if limit is not None and tokens > (left := limit - self.tokens - self._reserved_tokens):
            what = f"the next call could take {tokens:,} tokens, and {max(0, left):,} are left"
            raise _reached(what, f"{limit:,} tokens")
        most = self.budget.money
        if most is not None and money > (left := most - self.money - self._reserved_money):
            what = f"the next call could cost {money:.4g}, and {max(0.0, left):.4g} is left"
            raise _reached(what, f"{most:g}")


def _tokens(usage: Mapping[str, int]) -> int:
    return usage.get("input", 0) + usage.get("output", 0)


def _reached(what: str, budget: str) -> BudgetReached:
    hint = "continue with the same command and a larger budget"
    return BudgetReached(what, where=f"budget of {budget}", hint=hint)


class Place(NamedTuple):
    """The origin of calls within an evaluation.

    Attributes:
        run: Scenario and seed.
        role: ``agent``, ``compressor`` or ``judge``.
        agent: Label of the memory; empty for the judge's own calls.
    """

    run: str
    role: str
    agent: str = ""


class LoggedModel:
    """A `ChatModel` in front of another one. Its calls must be sequential.

    The key of a call combines its place, its content, and the number of equal calls before it
    there. `confirm` logs failed calls that the caller survived, because a resumed run must see the
    same failures. Other failed calls are repeated. A refusal is an answer: it is logged and paid.

    Attributes:
        stopped: The budget error of a refused call.
    """

    def __init__(self, model: ChatModel, log: CallLog, spending: Spending, place: Place) -> None:
        self._model = model
        self._log = log
        self._spending = spending
        self._place = place
        self._asked: Counter[str] = Counter()
        self._failed: list[tuple[str, _Request, CompressionError]] = []
        self.name = model.name
        self.stopped: BudgetReached | None = None

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the logged answer, or ask for a new one."""
        request = _Request(tuple(messages), dict(schema or {}), max_tokens or MOST_WRITTEN)
        key = self._key(request)
        logged = self._log.find(key)
        if logged is not None:
            self._spending.played(self._place.role, logged["usage"])
            return _replayed(logged, self.name)
        try:
            with self._spending.reserved(self._place.role, estimate(request)):
                answer = self._model.complete(messages, schema, max_tokens=max_tokens)
                answer = self._keep(key, request, answer)
        except BudgetReached as reached:
            self.stopped = reached
            raise
        except CompressionError as failure:
            self._failed.append((key, request, failure))
            if failure.outcome in WITHHELD:
                self.confirm()
            raise
        return answer

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Do the same without blocking; see `complete`."""
        return await asyncio.to_thread(self.complete, messages, schema, max_tokens=max_tokens)

    def confirm(self) -> None:
        """Log the failed calls so far as survived."""
        for key, request, failure in self._failed:
            reply = {"failed": failure.outcome, "detail": failure.what, "hint": failure.hint}
            usage = asdict(Usage(**failure.usage)) if failure.outcome in WITHHELD else {}
            self._record(key, request, reply, usage)
            if usage:
                self._count(usage)
        self._failed.clear()

    def _key(self, request: _Request) -> str:
        content = [[list(m) for m in request.messages], request.schema, request.limit, self.name]
        encoded = canonical_json(content).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(encoded).hexdigest()
        number = self._asked[digest]
        self._asked[digest] += 1
        place = canonical_json([*self._place, digest, number])
        return hashlib.sha256(place.encode()).hexdigest()

    def _keep(self, key: str, request: _Request, answer: Completion) -> Completion:
        usage, metered = asdict(answer.usage), answer.usage.input + answer.usage.output > 0
        if not metered:
            usage |= {**estimate(request), "output": utf8_quarter(answer.text)}
        reply = {"text": answer.text, "cut_off": answer.cut_off, "metered": metered}
        self._record(key, request, reply, usage)
        self._count(usage)
        return replace(answer, usage=Usage(**usage))

    def _count(self, usage: Mapping[str, int]) -> None:
        self._spending.spent(self._place.role, usage)
        self._spending.played(self._place.role, usage)

    def _record(self, key: str, request: _Request, reply: Record, usage: Mapping[str, int]) -> None:
        record = {
            **self._place._asdict(),
            "model": self.name,
            "messages": [message._asdict() for message in request.messages],
            "limit": request.limit,
            "reply": reply,
            "usage": dict(usage),
        }
        self._log.add_call(key, record, request.schema)


class _Request(NamedTuple):
    """What a model is asked for: messages, the schema of the answer, the most tokens of it."""

    messages: Messages
    schema: dict[str, Any]
    limit: int


def estimate(request: _Request) -> dict[str, int]:
    """Estimate the maximum tokens of a call."""
    read = sum(utf8_quarter(message.content) for message in request.messages)
    read += utf8_quarter(canonical_json(request.schema))
    return {"input": read + read // 10, "output": request.limit}


def count_logged(log: CallLog, spending: Spending) -> None:
    """Count the spending of earlier runs of a log."""
    for record in log.calls():
        if record["usage"]:
            spending.spent(record["role"], record["usage"])


def _replayed(record: Mapping[str, Any], model: str) -> Completion:
    reply = record["reply"]
    if "failed" in reply:
        raise CompressionError(
            reply["detail"], where=model, hint=reply["hint"], outcome=reply["failed"],
            usage=record["usage"],
        )  # fmt: skip
    return Completion(reply["text"], Usage(**record["usage"]), model, reply["cut_off"])
