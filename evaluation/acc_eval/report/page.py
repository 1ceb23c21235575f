"""A self-contained HTML page that loads nothing and runs nothing.

The content security policy names the style by its hash: text of a conversation cannot run code or
reach the network.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from acc.errors import AccError
from acc.folders import file_errors, opened_private, private_folder
from acc.text.lines import inert


def page(title: str, body: str) -> str:
    """Return a page in the style of the reports, with ``title`` as its heading.

    ``body`` is HTML. The caller has escaped all foreign text in it.
    """
    style = files("acc_eval.report").joinpath("style.css").read_text(encoding="utf-8")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{allowed(style)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title><style>{style}</style></head>",
        f"<body><main><h1>{escape(title)}</h1>{body}</main>",
        "</body></html>",
        "",
    ]
    return "\n".join(parts)


def allowed(style: str) -> str:
    """Return the content security policy of a page with this style: it loads and runs nothing."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


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
