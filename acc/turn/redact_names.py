"""Secrets that are known by the name before them: what is assigned to it, stands behind it, or below it in a table."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from acc.turn.redact_forms import MASK, Span, begun, has_both

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

_EXPRESSION = re.compile(r"@?[a-z_][\w.:]*+[(\[]|@[\w.]++\(|[\w.]++\(.*\)\W*\Z|os\.|env\b")
"""A call or a look-up in a program."""
_ELSEWHERE = re.compile(r"[\w.-]+@[\w.-]+\.\w+|[\w+-]+://.*", re.I)
"""An address is no password."""
_DESCRIBING = frozenset(
    ("required", "optional", "string", "undefined", "default", "changed", "unknown")
)

_FAR, _MOST_WORDS, _LONG = 80, 10, 20
"""Characters and words behind a name in which its value is looked for; what is as long is a key without a sign."""
_WIDEST, _MOST_ROWS, _SEPARATORS = 2_000, 100, ",|;\t"
"""Characters of a table's line and rows below its head that are read; what divides its cells."""


def named(text: str, folded: str) -> Iterator[Span]:
    """Yield values of names of secrets. ``folded`` is the text in lower case. Takes linear time."""
    yield from _assigned(text, folded)
    passwords: list[int] = []
    for name in begun(_NAMED, text, folded, _WORDS):
        yield from _behind(text, name)
        if name["password"] is not None:
            passwords.append(name.start())
    yield from _below(text, passwords)


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
        if not _stands_for_another(found[kind]) and _is_assigned(value, found["sign"], is_tight):
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


def _stands_for_another(value: str) -> bool:
    return bool(MASK.match(value) or _EXPRESSION.match(value) or _ELSEWHERE.match(value))


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
            break
        if run[0][-1] in "!?" or text[run.end() - 1 : run.end() + 1] == ". ":
            break


def _is_value(text: str, is_led: bool = True) -> bool:
    """Whether a word looks like a secret: letters and digits together, and a third kind of character in prose."""
    is_mixed = text.lower() != text != text.upper() or not text.isalnum()
    is_word = len(text) <= 512 and not any(c in "/(:" or c.isspace() for c in text)
    return is_word and has_both(text) and (is_led or is_mixed) and not _stands_for_another(text)


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
