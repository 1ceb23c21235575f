"""The forms that a conversation's file may have, each read as a list of chat messages.

`acc.message_forms` says whose messages are read. Beside each message stands its place in the
file, so that what is wrong with it can be found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.message_forms import READ, is_message

_LISTS = ("messages", "contents", "input")
"""Where an object has its messages: that of a chat, Gemini's, and that of OpenAI's Responses."""

_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Where such an object has the system prompt, if that is not among the messages."""

_FORMS = (
    'give a JSON array of chat messages, {"messages": [...]}, one message a line, or a scenario; '
    f"messages are {READ}"
)


class Given(NamedTuple):
    """The messages of a file, unchecked, and the place of each.

    Attributes:
        messages: In order.
        places: File and line, or number, of each.
        scenario: Whether they were made from a scenario.
        dropped: What was left out to mend the file, each as one sentence with its place.
    """

    messages: list[Any]
    places: list[str]
    scenario: bool = False
    dropped: tuple[str, ...] = ()


def read_messages(file: Path, *, repair: bool) -> Given:
    """The messages in ``file``, whichever form it has.

    Raises:
        InputError: The file cannot be read, is empty, no UTF-8, or in none of the forms.
    """
    return _messages(_text(file, repair), file, repair)


def _text(file: Path, repair: bool) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        what, mend = "the file cannot be read: " + str(error.strerror or error), "name another"
        if isinstance(error, FileNotFoundError):
            what, mend = "no such file", "correct the path"
        elif isinstance(error, IsADirectoryError):
            what, mend = "a folder, not a file", "name a file in it"
        raise InputError(what, where=str(file), mend=mend) from error
    try:
        text = data.decode("utf-8-sig", "replace" if repair else "strict")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: byte 0x{data[error.start]:02x}",
            where=f"{file}, line {data.count(10, 0, error.start) + 1}",
            mend="re-encode the file as UTF-8, or let it be replaced by U+FFFD (--repair)",
        ) from error
    if not text.strip():
        raise InputError("the file is empty", where=str(file), mend=_FORMS)
    return text


def _messages(text: str, file: Path, repair: bool) -> Given:
    """The messages of ``text``, whichever form it has, each with its place for errors."""
    start = len(text) - len(text.lstrip())
    first, end = _decoded(text, start, file, 1)
    whole = not text[end:].strip()
    if isinstance(first, Mapping) and not {*_LISTS, "turns"} & first.keys():
        if whole and not is_message(first):
            raise InputError("neither 'messages' nor 'turns'", where=str(file), mend=_FORMS)
        return _lines(text, file, repair)
    if not whole:
        line = text.count("\n", 0, end + len(text[end:]) - len(text[end:].lstrip())) + 1
        raise InputError("text after the JSON", where=f"{file}, line {line}", mend=_FORMS)
    if isinstance(first, Mapping) and "turns" in first:
        return _scenario(first, file)
    if not isinstance(first, Mapping):
        return _listed(first, file)
    given = _listed(next(first[key] for key in _LISTS if key in first), file)
    prompt = next((first[key] for key in _PROMPTS if first.get(key)), None)
    if prompt is None:
        return given
    content = prompt.get("parts") if isinstance(prompt, Mapping) else prompt
    role = {"role": "system", "content": content}
    return Given([role, *given.messages], [str(file), *given.places])


def _listed(found: Any, file: Path) -> Given:
    if not isinstance(found, list):
        raise InputError(f"{type(found).__name__}, not messages", where=str(file), mend=_FORMS)
    return Given(found, [f"{file}, message {n}" for n in range(1, len(found) + 1)])


def _lines(text: str, file: Path, repair: bool) -> Given:
    given = Given([], [])
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        place = f"{file}, line {number}"
        try:
            message, end = _decoded(line, len(line) - len(line.lstrip()), file, number)
        except InputError as error:
            broken = isinstance(error.__cause__, json.JSONDecodeError)
            if not (broken and given.messages and number == lines[-1][0]):
                raise
            if not repair:  # what a writer that was killed leaves
                mend = "complete the last line, or let it be dropped (--repair)"
                raise InputError(error.what, where=place, mend=mend) from error
            return given._replace(dropped=(f"the last line is cut off and was dropped ({place})",))
        if line[end:].strip():
            raise InputError("more than one value", where=place, mend="write one message a line")
        given.messages.append(message)
        given.places.append(place)
    return given


def _decoded(text: str, start: int, file: Path, line: int) -> tuple[Any, int]:
    """The JSON value at ``start``, and where it ends; ``line`` is that of the text's beginning."""
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}"
        where = f"{file}, line {line + error.lineno - 1}"
        raise InputError(what, where=where, mend=_FORMS) from error
    except RecursionError as error:
        what = "the JSON is nested too deeply"
        raise InputError(what, where=f"{file}, line {line}", mend=_FORMS) from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"not JSON: {error}", where=f"{file}, line {line}", mend=_FORMS) from error


def _scenario(scenario: Mapping[str, Any], file: Path) -> Given:
    """A scenario's turns as messages, so that they are read in one way."""
    turns = _field(scenario, "turns", list, str(file))
    messages: list[Any] = []
    places: list[str] = []
    if scenario.get("role"):
        messages.append({"role": "system", "content": _field(scenario, "role", str, str(file))})
        places.append(str(file))
    for number, turn in enumerate(turns, 1):
        place = f"{file}, turn {number}"
        said = list(_turn_messages(turn, place))
        messages.extend(said)
        places.extend(place for _ in said)
    return Given(messages, places, scenario=True)


def _turn_messages(turn: Any, place: str) -> Iterator[dict[str, str]]:
    yield {"role": "user", "content": _field(turn, "user", str, place)}
    for output in _field(turn, "tool_outputs", list, place) if "tool_outputs" in turn else ():
        name, content = (_field(output, key, str, place) for key in ("tool", "content"))
        yield {"role": "tool", "name": name, "content": content}
    if "assistant" in turn:
        yield {"role": "assistant", "content": _field(turn, "assistant", str, place)}


def _field(entry: Any, name: str, kind: type, place: str) -> Any:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if isinstance(found, kind):
        return found
    there = isinstance(entry, Mapping) and name in entry
    what = f"{name!r} is {type(found).__name__}, not {kind.__name__}" if there else f"no {name!r}"
    mend = 'a turn is {"user": ..., "tool_outputs": [{"tool": ..., "content": ...}], ...}'
    raise InputError(what, where=place, mend=mend)
