"""The page, live and as a file: the same markup, style and scripts, which are files of this package.

A live page asks the server for its data. An exported page holds the data of one branch. Neither loads anything else:
the content security policy names style and script by their hashes, so that no text of a conversation can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from acc.errors import InputError
from acc.inspector.threads import Details, Threads
from acc.journal.names import MAIN
from acc.text.lines import inert

SCRIPTS = ("text.js", "data.js", "chart.js", "state.js", "turn.js", "acts.js", "app.js")
"""The scripts in the order in which they run, as one."""

MESSAGE_CHARS = 2_000
"""Maximum number of characters of each text in an exported page."""


def live_page(*, operator: bool) -> tuple[str, str]:
    """Return the page that asks its server, and its content security policy for the header.

    With ``operator`` the page offers acts.
    """
    own = "connect-src 'self'"
    text = _page("ACC inspector", {"live": True, "operator": operator}, own)
    return text, _allowed(f"{own}; frame-ancestors 'none'")


def exported_page(threads: Threads, name: str, title: str, branch: str = MAIN) -> str:
    """Return a page with all commits that led to the head of a branch. ``name`` is `threads.name_of` the thread.

    Raises:
        InputError: There is no such thread or branch, or nothing was committed.
        AuditError: The journal cannot be read.
    """
    return _page(title, exported(threads, name, branch))


def exported(threads: Threads, name: str, branch: str = MAIN) -> dict[str, Any]:
    """Return the data of an exported page. Items, lines and messages of the tail are in it once."""
    index = threads.index(name, branch)
    if not index.entries:
        raise InputError("the thread has no commit", where=str(index.key), hint="take a turn first")
    details = Details(threads, index, MESSAGE_CHARS)
    pool: dict[str, tuple[int, Any]] = {}
    turns: list[dict[str, Any]] = []
    sources: dict[str, Any] = {}
    for entry in index.entries:
        turn = details.of(entry["version"])
        sources |= {ref: details.source(ref) for ref in _named(turn) if ref not in sources}
        lines = turn["rendered"].split("\n") if turn["rendered"] is not None else None
        for part, values in (
            ("items", turn["items"]),
            ("tail", turn["tail"]),
            ("rendered", lines),
        ):
            shared = [pool.setdefault(repr(v), (len(pool), v))[0] for v in values or ()]
            turn[part] = shared if values is not None else None
        turns.append(turn)
    return {
        "live": False, "log": name, "entries": index.entries, "branches": [branch], "turns": turns,
        "sources": sources, "pool": [value for _, value in pool.values()],
    }  # fmt: skip


def _named(turn: Mapping[str, Any]) -> list[str]:
    """Return the refs that a commit's items, tail and verdicts name."""
    words = [each.get("words") or {} for each in turn["items"]]
    cited = [ref for item in turn["items"] for ref in item.get("sources", ())]
    later = [each["ref"] for item in turn["items"] for each in item.get("later", ())]
    told = [each["ref"] for each in (*turn["verdicts"], *turn["tail"])]
    return list(dict.fromkeys([*(w["ref"] for w in words if w), *cited, *later, *told]))


def _page(title: str, data: Mapping[str, Any], policy: str = "") -> str:
    # in ASCII, so that no text of it can end the element, or is more than text
    body = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_allowed(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(inert(title))}</title><style>{_resource('style.css')}</style></head>",
            f"<body>{_resource('page.html')}",
            f'<script type="application/json" id="data">{body}</script>',
            f"<script>{_script()}</script>",
            "</body></html>",
            "",
        ]
    )


def _allowed(policy: str = "") -> str:
    """Return the content security policy of the page; ``policy`` is what it allows besides."""
    style, script = (_hash(text) for text in (_resource("style.css"), _script()))
    parts = ["default-src 'none'", f"style-src '{style}'", f"script-src '{script}'"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", *filter(None, [policy])])


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _script() -> str:
    return "".join(map(_resource, SCRIPTS))


def _resource(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
