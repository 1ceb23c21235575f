"""The page: markup, style and scripts, which are files of this package.

It asks the server for its data, and loads nothing else: the content security policy names style and script by their
hashes, so that no text of a conversation can run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

SCRIPTS = ("text.js", "data.js", "chart.js", "state.js", "turn.js", "acts.js", "app.js")
"""The scripts in the order in which they run, as one."""


def page_and_policy(*, operator: bool) -> tuple[str, str]:
    """Return the page, and its content security policy for the header. With ``operator`` it offers acts."""
    style, script = _resource("style.css"), "".join(map(_resource, SCRIPTS))
    policy = "; ".join(
        [
            "default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'",
            "base-uri 'none'", "form-action 'none'", "connect-src 'self'",
        ]
    )  # fmt: skip
    page = "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>ACC inspector</title><style>{style}</style></head>",
            f"<body>{_resource('page.html')}",
            f'<script type="application/json" id="data">{json.dumps({"operator": operator})}</script>',
            f"<script>{script}</script>",
            "</body></html>",
            "",
        ]
    )
    return page, f"{policy}; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _resource(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
