"""Removes secrets from texts before anything persists them or passes them to a model.

`Settings.redact` selects the redactor: ``"secrets"`` (the default) is `SecretRedactor`, None
keeps texts unchanged, and any function from text to text is accepted. The function must be
deterministic and idempotent, because a retry is recognized by its words.

`SecretRedactor` finds secrets by their own form (`acc.turn.redact_forms`), and behind or below their name. The library
detect-secrets reads source code: without its entropies it misses the forms of messages, and with them it changes nearly
every harmless text.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, TypeVar

from acc.errors import ConfigurationError
from acc.text.lines import data_in, replaced
from acc.text.normal import Normal
from acc.turn.observations import Observation
from acc.turn.redact_forms import (
    Span,
    begun,
    decoded,
    formed,
    has_both,
    is_credential,
    joined,
    key_blocks,
    stands_for_another,
)
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
        while (made := self._once(text)) != text:  # a placeholder may make room for another find
            text = made
        return text

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
    found = [*formed(text, folded), *_named(text, folded)]
    for span, said in decoded(text):
        if is_credential(said) or any(_named(said, _folded(said))):
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
            why = f"it returned {type(made).__name__}"
        except Exception as error:
            # The error's message and the text may contain the secret, so neither is reported.
            made, why = None, f"it raised {type(error).__name__}"
        if isinstance(made, str):
            return made
        raise ConfigurationError(
            f"redact failed: {why}",
            where="Settings.redact",
            hint="pass a function that takes and returns a string; nothing was stored",
        )

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


# --- secrets that are known by the name before them ---

_FOREIGN = (
    "kennwort", "mot de passe", "contraseña", "senha", "wachtwoord", "hasło", "lösenord", "heslo", "şifre", "пароль",
    "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
_PASSWORD = (
    r"pass[ _-]?(?:word|phrase|code)s?|pass(?=[\"']?[ \t]{0,4}[:=])|passwd|pwd|passwort|"
    + "|".join(_FOREIGN)
)
_KEY = (
    r"(?:api|access|secret(?:[ _-]?access)?|private|account|auth|signing|encryption)[ _-]?key|client[ _-]?secret"
    r"|(?:secret|credential)s?|token(?!s)"
)
_WORDS = (
    "pass", "pwd", *_FOREIGN, "secret", "credential", "token", "api", "access", "private", "account", "client", "auth",
    "signing", "encryption",
)  # fmt: skip
"""The texts, in lower case, with one of which every name begins."""

_NAME = rf"(?<!\[)(?:(?P<password>{_PASSWORD})|{_KEY})(?:[ _-]?(?:id|value))?"
_NAMED = re.compile(rf"(?:{_NAME}|tokens)(?![a-z])", re.I)
_ASSIGNED = re.compile(
    rf"{_NAME}[\"']?(?:>(?P<element>[^\s<>]{{6,512}})</"
    r"|[ \t]{0,20}(?P<sign>:=|=>|[:=]|\bis\b(?:[ \t]+now\b)?)[ \t]{0,20}"
    r"(?:(?P<mark>'''|[\"'`])(?P<quoted>(?:(?!(?P=mark))\S){6,512})(?P=mark)"
    r"|[\"'`]?(?P<value>[^\s\"'`<>,;|]{6,512})))",
    re.I,
)

_DESCRIBING = ("required", "optional", "string", "undefined", "default", "changed", "unknown")

_FAR, _MOST_WORDS, _LONG = 80, 10, 20
"""Characters and words behind a name in which its value is looked for; what is as long is a key without a sign."""
_WIDEST, _MOST_ROWS, _SEPARATORS = 2_000, 100, ",|;\t"
"""Characters of a table's line and rows below its head that are read; what divides its cells."""


def _named(text: str, folded: str) -> Iterator[Span]:
    """Yield values of names of secrets. ``folded`` is the text in lower case. Takes linear time."""
    yield from _assigned(text, folded)
    names = list(begun(_NAMED, text, folded, _WORDS))
    for name in names:
        yield from _behind(text, name)
    yield from _below(text, [name.start() for name in names if name["password"] is not None])


def _assigned(text: str, folded: str) -> Iterator[Span]:
    """Yield what stands right behind a name and a sign, in quotation marks, or in an element of XML."""
    for found in begun(_ASSIGNED, text, folded, _WORDS):
        kind = next(each for each in ("element", "quoted", "value") if found[each] is not None)
        value = found[kind]
        if kind == "value":
            value = value.partition("&")[0] if found["sign"] == "=" else value
            value = value.rstrip(".,:!?*_()[]{}")
        start = found.start(kind)
        is_tight = kind == "value" and found["sign"] == "=" and found.end("sign") == start
        if not stands_for_another(found[kind]) and _is_assigned(value, found["sign"], is_tight):
            yield start, start + len(value)


def _is_assigned(value: str, sign: str | None, is_tight: bool) -> bool:
    """Whether the value assigned to a secret's name is a secret, not a word that describes one."""
    if len(value) < 6 or _NAMED.fullmatch(value):
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    others = any(not c.isalnum() and c not in "-_./'’()[]" for c in value)
    if letters and (digits or others):
        return True
    if is_tight and value.isalpha():
        return value.lower() not in _DESCRIBING
    return value.isdigit() and sign not in ("is", None)


_RUN = re.compile(r"[^\s\"'`<>|,;&]{1,513}")


def _behind(text: str, name: re.Match[str]) -> Iterator[Span]:
    """Yield the first word of letters and digits behind a name.

    Words or a line break may stand between a password and its value; of another secret words if there is a sign.
    """
    end, is_password = name.end(), name["password"] is not None
    for run in islice(_RUN.finditer(text, end), _MOST_WORDS):
        is_elsewhere = text.count("\n", end, run.start()) > is_password or run.start() > end + _FAR
        if is_elsewhere or "[secret:" in run[0] or run[0][0] == "%":
            break
        other = _NAMED.match(run[0])
        if other is not None and (other["password"] is not None or not is_password):
            break  # that name finds its own
        value = run[0].lstrip("=:>([").rstrip(".,:!?*()[]{}=")
        if "=" in value:
            break  # something else is assigned
        start = run.start() + run[0].find(value) if value else run.end()
        is_led = any(sign in text[end:start] for sign in ":=>|[,\n")
        if (is_led or is_password or len(value) >= _LONG) and _is_value(value, is_led):
            yield start, start + len(value)
            return
        if run[0][-1] in "!?" or text[run.end() - 1 : run.end() + 1] == ". ":
            break


def _is_value(text: str, is_led: bool = True) -> bool:
    """Whether a word looks like a secret: letters and digits together, and a third kind of character in prose."""
    is_mixed = text.lower() != text != text.upper() or not text.isalnum()
    is_word = len(text) <= 512 and not any(c in "/(:" or c.isspace() for c in text)
    return is_word and has_both(text) and (is_led or is_mixed) and not stands_for_another(text)


def _below(text: str, names: Sequence[int]) -> Iterator[Span]:
    """Yield the words of letters and digits below names that head columns of a table."""
    read = 0
    for name in names:
        begin = text.rfind("\n", max(0, name - _WIDEST), name) + 1
        at = text.find("\n", name, name + _WIDEST)
        if name < read or at < 0 or at - begin > _WIDEST:
            continue
        head = text[begin:at]
        sign = max(_SEPARATORS, key=head.count)
        many = head.count(sign)
        first, last = bisect_left(names, begin), bisect_left(names, at)
        columns = {head[: each - begin].count(sign) for each in names[first:last]}
        read = at
        for _ in range(_MOST_ROWS if many else 0):
            begin, at = at + 1, text.find("\n", at + 1, at + 1 + _WIDEST)
            cells = text[begin : at if at >= 0 else begin + _WIDEST].split(sign)
            if len(cells) <= many:
                break
            for column in columns:
                value = cells[column].strip(" `'\"")
                if _is_value(value):
                    place = text.index(value, begin + len(sign.join(cells[:column])))
                    yield place, place + len(value)
            if at < 0:
                break
        read = max(read, begin)
