"""``acc doctor``: checks what is installed, the memory in a folder, or a model's server."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from acc import __version__
from acc.cli import options
from acc.cli.opening import CHROMA, Memory, NamedBranch, check_memory, looking, opened
from acc.cli.options import option
from acc.cli.output import print_json
from acc.controller.indexing import FOLDER
from acc.errors import AccError, CompressionError, ConfigurationError, InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence, Health, Lag
from acc.journal.opened import FILE
from acc.models.answers import AnswerError, object_in
from acc.models.asking import Format, Request
from acc.models.choosing import OpenAIModel
from acc.models.protocol import Completion, PromptMessage
from acc.text.lines import count, inert_line

_MOST_LAGS = 5

TIMEOUT, SLOW = 60.0, 15.0
"""Seconds that the small question may take, and above which a compression may miss its time-out."""

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["greeting", "letters"],
    "additionalProperties": False,
}
_MESSAGES = (
    PromptMessage("system", "You greet people in French. If asked for JSON, you answer in JSON."),
    PromptMessage("user", "Greet me with one word, and tell how many letters it has."),
)
_IN_WORDS: Mapping[Format, str] = {
    "schema": "the server enforces the JSON Schema",
    "words": "plain text; the prompt states the JSON Schema",
}


class Finding(NamedTuple):
    """The result of one check: ``note`` works but could be better, ``bad`` does not work."""

    level: Literal["ok", "note", "bad"]
    what: str
    hint: str = ""

    @classmethod
    def of_error(cls, error: AccError) -> Finding:
        """Return the finding that an error describes."""
        return cls("bad", error.what + (f" ({error.where})" if error.where else ""), error.hint)


def doctor(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    endpoint: Annotated[str, option("MODEL", "Check this model at OPENAI_BASE_URL, or NAME@URL, instead of a "
        "memory. Asks one short question.")] = "",
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Check the installation, a memory or a model's server.

    Each line begins with ok, note (works, but could be better, or was not checked) or bad.
    """
    details: dict[str, Any] = {}
    if endpoint:
        findings = list(_endpoint(endpoint))
    else:
        findings = [_installed(), _api_key()]
        try:
            findings += _memory(memory, details)
        except AccError as error:
            findings.append(Finding.of_error(error))
    if json:
        print_json({"checks": [finding._asdict() for finding in findings], **details})
    for level, what, hint in () if json else findings:
        fix = f"\n      to fix: {inert_line(hint)}" if hint else ""
        print(f"{level:<5} {inert_line(what)}{fix}", flush=True)
    if bad := [finding for finding in findings if finding.level == "bad"]:
        what = f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}"
        raise AccError(what, hint=bad[0].hint)


def _installed() -> Finding:
    beside = (f"{name} {version(name)}" for name in ("chromadb", "langgraph", "openai"))
    return Finding(
        "ok", ", ".join((f"acc {__version__}", f"Python {platform.python_version()}", *beside))
    )


def _api_key() -> Finding:
    if not os.environ.get("OPENAI_API_KEY"):
        return Finding("ok", "OPENAI_API_KEY is not set: the keyless rules compress")
    at = f" for {url}" if (url := os.environ.get("OPENAI_BASE_URL")) else ""
    return Finding("ok", f"OPENAI_API_KEY is set{at}; acc doctor --endpoint MODEL tests it")


def _memory(memory: Memory, details: dict[str, Any]) -> Iterator[Finding]:
    """Check the memory in a folder, if there is one. A folder without one is no error: nothing is made."""
    has_index = bool(os.environ.get(CHROMA))
    if isinstance(memory, Path):
        if not memory.exists() or (memory.is_dir() and not (memory / FILE).exists()):
            yield Finding("ok", f"no memory in {memory} yet")
            return
        check_memory(memory)
        if not os.access(memory, os.W_OK) or not os.access(memory / FILE, os.W_OK):
            what = "the folder or its journal cannot be written: every step would fail"
            raise InputError(what, where=str(memory), hint="give this user write access")
        has_index = has_index or (memory / FOLDER).is_dir()
    with opened(memory) if has_index else looking(memory) as controller:
        health = Evidence(controller).health()
    details["health"] = plain(health)
    yield from _journal(health)
    yield from _index(health, has_index=has_index)


def _journal(health: Health) -> Iterator[Finding]:
    held = (health.threads, "thread"), (health.messages, "message"), (health.commits, "commit")
    told = ", ".join(count(number, noun) for number, noun in held)
    sizes = ", ".join(f"{name} {size / 2**20:,.1f} MiB" for name, size in health.sizes.items())
    free = f"{health.free_bytes / 2**20:,.1f} MiB free in the journal"
    yield Finding("ok", f"the journal has {told}; on the disk: {sizes}; {free}")
    for problem in health.problems:
        if problem.startswith("journal: "):
            yield Finding("bad", problem, "run acc verify, and restore a backup")
    for turn in health.open:
        what = f"{_label(turn)}: {count(turn.messages, 'message')} of a turn without a commit"
        yield Finding("note", what, "nothing: the next step of the thread takes them up")


def _index(health: Health, *, has_index: bool) -> Iterator[Finding]:
    problems = [each for each in health.problems if not each.startswith("journal: ")]
    for problem in problems:
        yield Finding("note", problem, "steps go on; close the other process, or run acc reindex")
    behind = sum(each.messages for each in health.lag)
    if not has_index:
        yield Finding("note", "there is no index: recall finds by words alone", "run acc reindex")
    elif behind:
        named = ", ".join(f"{_label(each)} {each.messages:,}" for each in health.lag[:_MOST_LAGS])
        more = " and others" if len(health.lag) > _MOST_LAGS else ""
        what = f"the index lacks {count(behind, 'message')}: {named}{more}"
        yield Finding("note", what, "nothing: each thread's next step fills it; or acc reindex")
    elif not problems:
        yield Finding("ok", "the index has every message")


def _label(each: Lag) -> str:
    return NamedBranch(each.thread, each.branch).label


class _Probe(OpenAIModel):
    """Keeps which formats were asked for."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name, base_url=url or None, timeout=TIMEOUT, attempts=1)
        self.asked: list[Format] = []

    def send(self, request: Request) -> Completion:
        """Make one request."""
        self.asked.append(request.format)
        return super().send(request)


def _endpoint(given: str) -> Iterator[Finding]:
    """Ask a model's server a small question as a compressor asks, in the format that it takes."""
    name, _, url = given.rpartition("@") if "://" in given else (given, "", "")
    try:
        if not name:
            what, hint = "the model has no name", f"use --endpoint NAME@{url}"
            raise ConfigurationError(what, where="--endpoint", hint=hint)
        probe = _Probe(name.removeprefix("openai:"), url)
        started = time.perf_counter()
        answer = probe.complete(_MESSAGES, _SCHEMA, max_tokens=1_024)
    except (ConfigurationError, CompressionError) as error:
        yield Finding.of_error(error)
        return
    if len(probe.asked) > 1:
        yield Finding("note", "the server refuses a JSON Schema as response_format")
    yield _shape(probe, answer)
    if not answer.usage.input and not answer.usage.output:
        yield Finding("note", "the server does not report used tokens: acc cannot count the cost")
    seconds = (time.perf_counter() - started) / len(probe.asked)
    what, hint = f"a request took {seconds:.1f} s", "use a smaller model, or Settings(behind=True)"
    if seconds > SLOW:
        yield Finding("note", f"{what}; a compression reads and writes far more", hint)
    else:
        yield Finding("ok", what)


def _shape(probe: _Probe, answer: Completion) -> Finding:
    """Return whether the answer has the shape that was asked for."""
    if answer.cut_off:
        hint = "let the model reason less, or use another: its answer reached the limit of tokens"
        return Finding("bad", f"{probe.where}: the answer was cut off", hint)
    try:
        found = object_in(answer.text, ("greeting", "letters"))
        said = f"an object with the fields {', '.join(found)}"
    except AnswerError as error:
        found, said = {}, str(error)
    fits = isinstance(found.get("greeting"), str) and isinstance(found.get("letters"), int)
    if fits and len(found) == 2:
        return Finding("ok", f"{probe.where}: {_IN_WORDS[probe.asked[-1]]}")
    what = f"{probe.where}: it was to answer by a JSON Schema, and answered {said}"
    return Finding("bad", what, "use a stronger model: this one does not follow a JSON Schema")
