"""A self-contained HTML page that loads nothing and runs only its own script.

The content security policy names style and script by their hashes: text of a conversation cannot
run code or reach the network.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from acc.errors import AccError
from acc.folders import file_errors, opened_private, private_folder
from acc.text.lines import inert


def page(title: str, body: str) -> str:
    """Return a page without a script, in the style of the reports, with ``title`` as its heading.

    ``body`` is HTML. The caller has escaped all foreign text in it.
    """
    style = files("acc.report").joinpath("style.css").read_text(encoding="utf-8")
    return document(title, f"<main><h1>{escape(title)}</h1>{body}</main>", style=style)


def document(
    title: str, body: str, *, style: str, script: str = "", data: Any = None, policy: str = ""
) -> str:
    """Return a page of this style that loads nothing and runs only this script.

    ``body`` is HTML. The caller has escaped all foreign text in it. The script reads the JSON values ``data``
    from the element of that name. ``policy`` is what the content security policy allows besides.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{allowed(style, script, policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title><style>{style}</style></head>",
        f"<body>{body}",
    ]
    if data is not None:
        parts.append(f'<script type="application/json" id="data">{_inert(data)}</script>')
    if script:
        parts.append(f"<script>{script}</script>")
    return "\n".join([*parts, "</body></html>", ""])


def allowed(style: str, script: str = "", policy: str = "") -> str:
    """Return the content security policy of a page with this style and script."""
    parts = ["default-src 'none'", f"style-src '{_hash(style)}'"]
    parts += [f"script-src '{_hash(script)}'"] if script else []
    return "; ".join([*parts, "base-uri 'none'", "form-action 'none'", *filter(None, [policy])])


def write_page(text: str, file: Path) -> None:
    """Write a page to a file that only its owner can read.

    Raises:
        AccError: The file cannot be written.
    """
    what, hint = "the report cannot be written", "name another file"
    with file_errors(AccError, what, where=file, hint=hint):
        private_folder(file.parent)
        with opened_private(file, "w", encoding="utf-8", newline="\n", errors="replace") as out:
            out.write(inert(text))


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", words: int = 1
) -> str:
    """An HTML table. From column ``words`` on, cells are numbers and aligned right."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        kinds = ("" if place < words else ' class="number"' for place in range(len(texts)))
        return "".join(
            f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, texts, strict=True)
        )

    heading = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table>{heading}<thead><tr>{cells("th", headings)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _inert(data: Any) -> str:
    """JSON that cannot end the element that contains it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
