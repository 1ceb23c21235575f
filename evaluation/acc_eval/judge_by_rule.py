"""An agent, a compressor and a judge that answer by rule: the whole evaluation without a key.

They only show that the software works. Their numbers say nothing about a language model, and every
output of them includes `NOTICE`. The requested schema identifies the kind of request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from acc.models.protocol import Completion, Messages, Schema, Usage
from acc.text.ranking import terms
from acc.text.tokens import utf8_quarter
from acc_eval.judge import METRICS

NOTICE = (
    "answered by rule, by this program: these are no language model's results, "
    "and say nothing about any memory"
)

_RULE = re.compile(
    r"\b(?:never|nobody|nothing|always|only|must|don't|do not|no|at most|without|rather)\b",
    re.IGNORECASE,
)
_LIFTED = re.compile(r"\b(?:may|can|lifted|no longer|forget about|again)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:list|table|draft|write|give|send|show|summar\w+|in one)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCED = re.compile(r"^<<(\w+) (.*)\n([\s\S]*?)\n\1>>$", re.MULTILINE)
_MESSAGE = re.compile(r"^<<\w+ (\S+) user\b.*\n([\s\S]*?)\n<<\w+ end>>$", re.MULTILINE)
_UNREAD = "Not in the state yet:"
_MOST = 3


class RuleModel:
    """A `ChatModel` that answers by rule, in this process."""

    def __init__(self, name: str) -> None:
        self.name = name

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer by rule."""
        text = json.dumps(answer_by_rule(messages, schema), ensure_ascii=False)
        read = sum(utf8_quarter(message.content) for message in messages)
        return Completion(text, Usage(1, read, utf8_quarter(text)), self.name)

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer by rule."""
        return self.complete(messages, schema, max_tokens=max_tokens)


def answer_by_rule(messages: Messages, schema: Schema) -> Mapping[str, Any]:
    """Answer a request of an agent, a compressor or a judge."""
    fields = frozenset((schema or {}).get("properties", {}))
    text = messages[-1].content if messages else ""
    for known, rule in _RULES:
        if known <= fields:
            return rule(text)
    return {name: [] for name in fields}


def _query(text: str) -> Mapping[str, Any]:
    return {"query": source_titled(text, "script")}


def _notes(text: str) -> Mapping[str, Any]:
    before, sentences = source_titled(text, "notes"), _sentences(source_titled(text, "the user's"))
    kept = [c for c in _bullets(before, "constraints:") if not any(_lifts(s, c) for s in sentences)]
    rules = [s for s in sentences if _RULE.search(s) and not s.endswith("?")]
    stated = [s for s in sentences if re.search(r"\d", s) and not s.endswith("?")]
    return {
        "constraints": list(dict.fromkeys([*kept, *rules])),
        "facts": [*_bullets(before, "facts:"), *stated][-20:],
        "goals": _bullets(before, "goals:"),
        "required": [s for s in sentences if _ORDER.search(s)],
    }


def _answer(text: str) -> Mapping[str, Any]:
    """Repeat the lines of memory and tools that share most words with the message.

    Lines without new words are skipped: a memory must not gain by returning the message itself.
    """
    wanted = set(terms(source_titled(text, "the user's")))
    known = _sentences(f"{source_titled(text, 'memory')}\n{source_titled(text, 'tool')}")
    lines = [s for s in known if wanted & (words := set(terms(s))) and words - wanted]
    best = sorted(lines, key=lambda line: (-len(wanted & set(terms(line))), line))[:_MOST]
    return {"text": " ".join(["Noted.", *best])}


def _scores(text: str) -> Mapping[str, Any]:
    """Score each answer by the share of the message's words that it contains."""
    wanted = set(terms(source_titled(text, "the user's"))) or {""}
    found = []
    for _, title, answer in _FENCED.findall(text):
        if title.startswith("answer "):
            mark = round(10 * len(wanted & set(terms(answer))) / len(wanted), 1)
            label = title.removeprefix("answer ")
            found.append({"label": label, **dict.fromkeys(METRICS, mark)})
    return {"answers": found}


def _audit(text: str) -> Mapping[str, Any]:
    """Audit an answer. The first source with most of a claim's words supports the claim."""
    titles = {"query": "the user's", "notes": "notes", "tools": "tool"}
    known = {name: set(terms(source_titled(text, title))) for name, title in titles.items()}
    claims = []
    answered = _sentences(source_titled(text, "the answer"))
    for sentence in answered:
        if claimed := set(terms(sentence)):
            supports = (
                n for n, words in known.items() if len(claimed & words) >= 0.6 * len(claimed)
            )
            claims.append({"claim": sentence, "support": next(supports, "none")})
    return {
        "claims": claims,
        "violations": [
            rule
            for rule in _bullets(source_titled(text, "notes"), "constraints:")
            if any(_breaks(sentence, rule) for sentence in answered)
        ],
        "omissions": [
            element
            for element in _bulleted(source_titled(text, "required"))
            if not set(terms(element)) & set(terms(" ".join(answered)))
        ],
    }


def _proposal(text: str) -> Mapping[str, Any]:
    """Propose a rule for each user sentence that sounds like one, and a fact for each other."""
    stated = [
        (ref, sentence)
        for ref, said in _MESSAGE.findall(text.partition(_UNREAD)[2])
        for sentence in _sentences(said)
        if not sentence.endswith("?") and len(sentence) <= 300
    ]
    rules = [(ref, s) for ref, s in stated if _RULE.search(s)][-_MOST:]
    facts = [(ref, s) for ref, s in stated if not _RULE.search(s)][-_MOST:]
    return {
        "rules": [{"quote": s, "ref": ref} for ref, s in rules],
        "facts": [{"text": s, "refs": [ref]} for ref, s in facts],
    }


_RULES: tuple[tuple[frozenset[str], Callable[[str], Mapping[str, Any]]], ...] = (
    (frozenset({"query"}), _query),
    (frozenset({"constraints", "required"}), _notes),
    (frozenset({"answers"}), _scores),
    (frozenset({"claims"}), _audit),
    (frozenset({"rules", "goals"}), _proposal),
    (frozenset({"text"}), _answer),
)


def source_titled(text: str, title: str) -> str:
    """The text of the first source with a title that begins with ``title``."""
    found = _FENCED.findall(text)
    return next((body for _, heading, body in found if heading.startswith(title)), "")


def _sentences(text: str) -> list[str]:
    return [s.strip(" -") for s in _SENTENCE.split(text) if s.strip(" -")]


def _bullets(text: str, heading: str) -> list[str]:
    """The list under a heading."""
    return _bulleted(text.partition(heading + "\n")[2])


def _bulleted(text: str) -> list[str]:
    lines = takewhile(lambda line: line.startswith("-"), text.splitlines())
    return [element for line in lines if (element := line[1:].strip())]


def _breaks(sentence: str, rule: str) -> bool:
    """Whether a sentence shares the subject of a rule without sounding like a rule."""
    return not _RULE.search(sentence) and len(set(terms(sentence)) & set(terms(rule))) >= 2


def _lifts(sentence: str, rule: str) -> bool:
    return bool(_LIFTED.search(sentence)) and _breaks(sentence, rule)
