"""The page's text: it runs its own script alone, loads nothing, and sets no foreign text as HTML."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

import acc.inspector
from acc.inspector.server import SCRIPTS, page_and_policy

PACKAGE = files(acc.inspector)


def test_only_the_pages_own_style_and_script_are_allowed() -> None:
    text, header = page_and_policy()
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert found is not None
    assert header == f"{found[1]}; frame-ancestors 'none'"
    assert found[1].startswith("default-src 'none';")
    assert found[1].endswith("connect-src 'self'")
    assert "unsafe" not in found[1]
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in found[1]


def test_nothing_is_loaded_and_no_text_becomes_html() -> None:
    text, _ = page_and_policy()
    assert not re.search(r"""\bsrc\s*=\s*["']|@import|url\(|XMLHttp|<link|<iframe|<img""", text)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|\son\w+=\"",
        text,
    )
    assert set(re.findall(r"https?://[^\"'\s`]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_every_script_of_the_package_is_in_the_page() -> None:
    there = {each.name for each in PACKAGE.iterdir() if each.name.endswith(".js")}
    assert there == set(SCRIPTS)


def test_light_and_dark_define_the_same_colours() -> None:
    style = PACKAGE.joinpath("style.css").read_text("utf-8")
    light, dark = (
        set(re.findall(r"--([\w]+):", block)) for block in re.findall(r":root\{([^}]*)", style)
    )
    assert light == dark
    assert set(re.findall(r"var\(--([\w]+)\)", style)) <= light
