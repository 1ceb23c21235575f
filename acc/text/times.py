"""Time in words: which texts depend on the day on which they were said, and until when a rule holds.

Only English is read, and only a closed set of forms. In doubt a rule has no end: it then holds too long, which
the user notices, instead of too short.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}

_WEEKDAY = "|".join(_WEEKDAYS)
_MONTH = "|".join(MONTHS)
_NUMBER = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
_END = r"end of (?:the |this )?(?:day|week|month|year)"

_RELATIVE = re.compile(
    rf"\b(?:today|tonight|tomorrow|yesterday|{_END}|eod|eow|(?:this|next|last) (?:morning|afternoon|evening|night|"
    rf"week|weekend|month|quarter|year|{_WEEKDAY})|(?:until|till|by|on|before|since) (?:{_WEEKDAY})|"
    rf"(?:in|within) (?:{_NUMBER}) (?:minute|hour|day|week|month)s?|(?:next|past|last) (?:{_NUMBER} )?"
    rf"(?:minute|hour|day|week|month)s?|(?:{_NUMBER}) (?:minute|hour|day|week|month)s? (?:ago|from now))\b",
    re.I,
)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")

_CLOCK = (
    r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?: ?(?P<half>[ap])m)?|(?P<full>1[0-2]|[1-9]) ?(?P<apm>[ap])m|"
    r"(?P<noon>noon|midday)"
)
_DAY = (
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?P<word>today|tonight|tomorrow)|(?P<next>next )?(?P<weekday>{_WEEKDAY})|"
    rf"(?P<end>{_END})|(?P<number>[12]?\d|3[01])(?:st|nd|rd|th)? (?P<month>{_MONTH})|"
    rf"(?P<month2>{_MONTH}) (?P<number2>[12]?\d|3[01])(?:st|nd|rd|th)?"
)
_UNTIL = re.compile(
    rf"\b(?:(?:un)?till?|until) (?:(?:the )?(?:{_DAY})(?:,?(?: at)? (?:{_CLOCK}))?)|"
    rf"\bfor the next (?:(?P<count>{_NUMBER}) )?(?P<unit>minute|hour|day|week)s?",
    re.I,
)
_NO_END = re.compile(
    rf"[.;:!?,\n()&+/]|\s[-–—]+\s|—|\b(?:and|but|nor|then|plus|from|between|every|each|daily|weekly|always|usually|"
    rf"whenever|if|when|while|because|since|unless|except|only|may|can|could|might|who|that|which|valid|open|"
    rf"allow\w*|permit\w*|accept\w*|grant\w*|possible|available|eligible|welcome|free|"
    rf"(?:{_WEEKDAY})s|weekdays|weekends)\b",
    re.I,
)
"""Words and marks beside which the time may be a part of what the rule says: a recurring time, a permission, a
condition, or another clause's."""

_POLITE = "please|ok|okay|so|also|and|but|now|then"

GRACE = timedelta(hours=36)
"""How much later a rule ends if the zone of its time is unknown: by then the time has passed in every zone."""


def moment(text: str) -> datetime | None:
    """Return the aware time of ``text`` in ISO 8601, in UTC if it has no zone; None if it is no time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def relative_words(text: str) -> str:
    """Return the first words of ``text`` that depend on when it was said; empty if a date stands beside them."""
    found = _RELATIVE.search(text)
    return found[0] if found and not _DATE.search(text) else ""


def end_of(rule: str, source: str, said: datetime) -> str | None:
    """Return until when ``rule`` holds, in ISO 8601; empty if its words name no end.

    The result has no zone if the zone of ``said`` is UTC, which rarely is the user's (`has_ended`). A day without a
    time of day ends at midnight; of two readings the later one counts.

    Args:
        rule: The rule as it is held.
        source: The whole text that it was taken from.
        said: When the source said it.

    Returns:
        None if the rule names an end that it does not have alone in ``source``: words were left out, or the
        sentence goes on.
    """
    rule = " ".join(rule.split()).rstrip(".!")
    found = list(_UNTIL.finditer(rule))
    if len(found) != 1:
        return ""
    opens = found[0].start() == 0 and re.match(r",? ", rule[found[0].end() :])
    if not (opens or found[0].end() == len(rule)):
        return ""
    rest = rule[: found[0].start()] + rule[found[0].end() :].lstrip(", ")
    if _NO_END.search(rest) or not rest.strip():
        return ""
    whole = re.compile(
        rf"(?:^|[.!?;]|(?P<head>[^.!?;]*):)\W*(?:(?:{_POLITE}),? )?{re.escape(rule)}(?:,? please)?\s*(?:[.!;]|$)",
        re.I,
    )
    stands = whole.search(" ".join(source.split()))
    if not stands or _NO_END.search(stands["head"] or ""):
        return None
    if found[0]["unit"]:
        count = _number(found[0]["count"] or "one")
        ends = said + timedelta(seconds=count * _UNITS[found[0]["unit"].lower()])
        return ends.isoformat(timespec="seconds")
    wall = _wall_time(found[0], said)
    if wall is None:
        return ""
    is_local = said.utcoffset() != timedelta(0)
    return (wall.replace(tzinfo=said.tzinfo) if is_local else wall).isoformat(timespec="seconds")


def has_ended(until: str, now: datetime) -> bool:
    """Return whether ``until``, a result of `end_of`, has passed."""
    try:
        ends = datetime.fromisoformat(until)
        return now > (ends if ends.tzinfo is not None else ends.replace(tzinfo=UTC) + GRACE)
    except (ValueError, OverflowError):
        return False


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.index(text.lower()) + 1


def _wall_time(found: re.Match[str], said: datetime) -> datetime | None:
    try:
        return datetime.combine(_day(found, said.date()), _clock(found))
    except (ValueError, OverflowError):  # there is no such day
        return None


def _clock(found: re.Match[str]) -> time:
    if found["noon"]:
        return time(12)
    half = (found["half"] or found["apm"] or "").lower()
    hour = found["hour"] or found["full"]
    if hour is None:
        return time(23, 59, 59)
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    return time(hours, int(found["minute"] or 0))


def _day(found: re.Match[str], today: date) -> date:
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    if found["word"]:
        return today + timedelta(days=found["word"].lower() == "tomorrow")
    if found["weekday"]:
        ahead = (_WEEKDAYS.index(found["weekday"].lower()) - today.weekday() - 1) % 7 + 1
        return today + timedelta(days=ahead + (7 if found["next"] else 0))
    if found["end"]:
        return _period_end(found["end"].split()[-1].lower(), today)
    month = MONTHS.index((found["month"] or found["month2"]).lower()) + 1
    day = int(found["number"] or found["number2"])
    this = date(today.year, month, day)
    return this if this >= today else date(today.year + 1, month, day)


def _period_end(period: str, today: date) -> date:
    if period == "week":
        return today + timedelta(days=6 - today.weekday())
    if period == "month":
        return today.replace(day=monthrange(today.year, today.month)[1])
    return today if period == "day" else date(today.year, 12, 31)
