"""Canonical JSON, texts on one line, inert text that a terminal or pager only displays, and base64 in texts.

Tools, documents and users may put anything into a conversation: escape sequences that write to the clipboard
or hide a line, marks that change the reading direction. All printed text must pass through this module.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Self, TextIO


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys, no spaces and only the escapes that JSON requires."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256_of(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of `canonical_json` in hexadecimal."""
    return hashlib.sha256(canonical_json(body).encode()).hexdigest()


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]+"
)


def one_line(text: str) -> str:
    """Return ``text`` on one line: control, bidirectional and invisible characters become spaces."""
    return " ".join(_UNSEEN.sub(" ", text).split())


_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # reading direction
    "\u2028\u2029"  # line and paragraph separators
    "\ufff9-\ufffb"  # interlinear annotations
)
_ACTIVE = re.compile(f"[{_CONTROLS}]")


def inert(text: str) -> str:
    r"""Replace each control character by ``\uXXXX``; line feeds and tabs stay. Idempotent.

    In JSON this is the escape of the same character, so a JSON text keeps its value.
    """
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def inert_line(text: str) -> str:
    r"""Return ``text`` as `inert` does, on one line: line feeds and tabs become ``\n`` and
    ``\t``.
    """
    return inert(text).replace("\n", "\\n").replace("\t", "\\t")


class InertStream:
    """A text stream that writes inert text to another stream and delegates everything else to it.

    Code that draws may write to ``raw``, but must pass foreign text through `inert`.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write ``text`` inertly; return the number of characters of ``text``."""
        self.raw.write(inert(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of ``lines`` inertly."""
        for line in lines:
            self.write(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.raw.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def inert_output() -> Iterator[None]:
    """Make stdout and stderr inert inside the context."""
    with redirect_stdout(_inertly(sys.stdout)), redirect_stderr(_inertly(sys.stderr)):
        yield


def _inertly(stream: TextIO) -> Any:
    return stream if isinstance(stream, InertStream) else InertStream(stream)


def raw(stream: Any) -> Any:
    """Return the stream wrapped by an `InertStream`, otherwise ``stream`` itself."""
    return stream.raw if isinstance(stream, InertStream) else stream


def count(number: int, noun: str) -> str:
    """Return a number and its noun, such as ``1 turn`` or ``2,000 turns``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


LONGEST = 8_192
"""Characters from which base64 counts as data: longer than any secret but a key block, and than any word."""

_DATA = re.compile(
    rf"(?<![\w+/-])(?:[\w+/-]{{{LONGEST},}}+|(?:[A-Za-z0-9+/]{{60,}}+(?:\\+[rn]|\s)*+)++)",
    re.ASCII,
)
"""On one line, or on lines of at least 60 characters, as MIME and PEM have them."""


def data_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch of base64 of at least `LONGEST` characters. Takes linear time."""
    for found in _DATA.finditer(text) if len(text) >= LONGEST else ():
        if found.end() - found.start() >= LONGEST:
            yield found.span()


def without_data(text: str) -> str:
    """Return ``text`` with "[data]" in the place of base64: nobody's words stand there."""
    return replaced(text, data_in(text), lambda _: "[data] ")


def replaced(text: str, spans: Iterable[tuple[int, int]], by: Callable[[str], str]) -> str:
    """Return ``text`` with each span replaced by what ``by`` makes of it. Spans are in order and do not overlap."""
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += text[at:start], by(text[start:end])
        at = end
    return "".join((*kept, text[at:]))
