"""Removes secrets from texts before anything persists them or passes them to a model.

`Settings.redact` selects the redactor: ``"secrets"`` (the default) is `SecretRedactor`, None
keeps texts unchanged, and any function from text to text is accepted. The function must be
deterministic and idempotent, because a retry is recognized by its words.

`SecretRedactor` finds what `acc.turn.redact_forms` and `acc.turn.redact_names` know. The library detect-secrets reads
source code: without its entropies it misses the forms of messages, and with them it changes nearly every harmless text.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from acc.errors import ConfigurationError
from acc.text.lines import data_in, replaced
from acc.text.normal import Normal
from acc.turn.observations import Observation
from acc.turn.redact_forms import Span, decoded, formed, is_credential, joined, key_blocks
from acc.turn.redact_names import named
from acc.turn.turn import Turn

Said = TypeVar("Said", bound=Observation)

PLACEHOLDER = re.compile(r"\[secret:[0-9a-f]{10}\]")
"""What stands in the place of a secret."""

Redact = Callable[[str], str]
"""Removes secrets from a text."""


SHORTEST = 6
"""Characters of a secret at least."""


class SecretRedactor:
    """Replaces keys, tokens, passwords, card numbers and IBANs by ``[secret:0a1b2c3d4e]``; idempotent.

    The digits come from an HMAC of the secret, so equal secrets have equal placeholders in all texts. Without
    a ``key``, a reader can test guesses against a placeholder. A memory has its own, in its journal.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key

    def __call__(self, text: str) -> str:
        """Return ``text`` with a placeholder for each secret found."""
        if len(text) < SHORTEST:  # most refs and ids
            return text
        made = self._once(text)
        while made != text:  # a placeholder may make room for another find
            text, made = made, self._once(made)
        return made

    def _once(self, text: str) -> str:
        text = replaced(text, key_blocks(text), self._placeholder)
        kept: list[str] = []
        at = 0
        for start, end in data_in(text):
            kept += self._redacted(text[at:start]), text[start:end]
            at = end
        return "".join((*kept, self._redacted(text[at:])))

    def _redacted(self, text: str) -> str:
        spans: Iterable[Span]
        if text.isascii():
            spans = _secrets_in(text)
        else:
            laid_out = Normal.laid_out(text)
            spans = (laid_out.original(*span) for span in _secrets_in(laid_out.text))
        return replaced(text, spans, self._placeholder)

    def _placeholder(self, secret: str) -> str:
        plain = joined(secret) if secret[:1].isdigit() else secret
        digest = hmac.new(self._key, plain.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[secret:{digest.hexdigest()[:10]}]"


def _secrets_in(text: str) -> list[Span]:
    """Return where secrets stand in a text without invisible characters, in order and apart."""
    folded = _folded(text)
    found = [*formed(text, folded), *named(text, folded)]
    for span, said in decoded(text):
        if is_credential(said) or any(named(said, _folded(said))):
            found.append(span)
    held = [each.span() for each in PLACEHOLDER.finditer(text)]
    apart: list[Span] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        place = bisect_right(held, (start, end))
        is_held = any(s < end and start < e for s, e in held[max(0, place - 1) : place + 1])
        if not is_held and (not apart or start >= apart[-1][1]):
            apart.append((start, end))
    return apart


def _folded(text: str) -> str:
    """Return a text of the same length in lower case: one character has a lower case that is longer."""
    return text.replace("\u0130", "i").lower()


def redactor(redact: Redact | Literal["secrets"] | None, key: bytes = b"") -> Redact | None:
    """Return the redactor that ``Settings.redact`` selects, or None.

    It raises `ConfigurationError`, which never contains the text, if the function fails or returns no text.
    """
    if redact is None:
        return None
    chosen: Redact = SecretRedactor(key) if redact == "secrets" else redact

    def checked(text: str) -> str:
        try:
            made = chosen(text)
        except Exception as error:
            # The error's message and the text may contain the secret, so neither is reported.
            raise _failed(f"it raised {type(error).__name__}") from None
        if not isinstance(made, str):
            raise _failed(f"it returned {type(made).__name__}")
        return made

    return checked


def redacted_turn(turn: Turn, redact: Redact | None) -> Turn:
    """Return the turn without secrets: in its texts, names, ids and times."""
    if redact is None:
        return turn
    clean = {"observations": redacted(turn.observations, redact), "at": redact(turn.at)}
    return turn.model_copy(update=clean)


_FIELDS = ("text", "name", "call_id", "message", "at")
"""Fields of an observation that somebody else writes."""


def redacted(said: Sequence[Said], redact: Redact | None) -> tuple[Said, ...]:
    """Redact observations. One without a secret is returned unchanged."""
    return tuple(said) if redact is None else tuple(_redacted(each, redact) for each in said)


def _redacted(said: Said, redact: Redact) -> Said:
    given = {name: getattr(said, name) for name in _FIELDS}
    clean = {name: redact(value) if value else value for name, value in given.items()}
    return said if clean == given else said.model_copy(update=clean)


def _failed(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"redact failed: {what}",
        where="Settings.redact",
        hint="pass a function that takes and returns a string; nothing was stored",
    )
