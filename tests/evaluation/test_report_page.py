"""The page: it loads nothing, and what others said stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from acc.errors import AccError
from acc_eval.report.page import page, table, write_page

HOSTILE = "</script><img src=x onerror=alert(1)> \u2028 <!-- & \"'"


def policy_of(text: str) -> str:
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert found
    return found[1]


def test_only_the_pages_own_style_is_allowed_and_nothing_runs() -> None:
    text = page(HOSTILE, "<p>body</p>")
    policy = policy_of(text)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    (inside,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "<img" not in text


def test_light_and_dark_define_the_same_colours() -> None:
    style = page("t", "")
    light, dark = (
        set(re.findall(r"--([\w]+):", block)) for block in re.findall(r":root\{([^}]*)", style)
    )
    assert light == dark
    assert {f"s{n}" for n in range(8)} <= light
    used = set(re.findall(r"var\(--([\w]+)\)", style))
    assert used <= light


def test_cells_are_text_and_numbers_stand_to_the_right() -> None:
    told = table(["name", "value"], [["<b>", "3"]], caption="a & b")
    assert "&lt;b&gt;" in told
    assert '<td class="number">3</td>' in told
    assert "<caption>a &amp; b</caption>" in told


def test_a_page_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AccError, match="the report cannot be written"):
        write_page("x", tmp_path / "file" / "page.html")
