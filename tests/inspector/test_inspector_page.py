"""The page's text: it runs its own script alone, loads nothing, and sets no foreign text as HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from helpers_inspector import HOSTILE, OPS, forked, remembered, threads_of

import acc.inspector
from acc.errors import InputError
from acc.inspector.page import (
    MESSAGE_CHARS,
    SCRIPTS,
    exported,
    exported_page,
    live_page,
)
from acc.journal import Journal
from acc.tail import messages_of
from acc.turn.turn import Turn

PACKAGE = files(acc.inspector)


def page_of(folder: Path) -> str:
    return exported_page(threads_of(folder), OPS, "A <title>")


@pytest.fixture
def pages(tmp_path: Path) -> list[str]:
    remembered(tmp_path, [HOSTILE[:-2], "Never restart db-1."])
    return [live_page(operator=True)[0], page_of(tmp_path)]


def test_only_the_pages_own_style_and_script_are_allowed(pages: list[str]) -> None:
    for text in pages:
        found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
        assert found is not None
        assert found[1].startswith("default-src 'none';")
        assert "unsafe" not in found[1]
        for tag in ("style", "script"):
            (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
            digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in found[1]
    assert "connect-src" not in pages[1]
    header = live_page(operator=False)[1]
    assert "frame-ancestors 'none'" in header
    assert "connect-src 'self'" in header


def test_nothing_is_loaded_and_no_text_becomes_html(pages: list[str]) -> None:
    for text in pages:
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


def test_an_export_has_the_turns_that_led_to_the_branchs_head_alone(tmp_path: Path) -> None:
    branch = forked(tmp_path)
    data = exported(threads_of(tmp_path), OPS, branch)
    said = [part["text"] for turn in data["turns"] for part in turn["said"]]
    assert said == ["Never restart db-1. What is the state of node-7?", "The limit is 50 pods."]
    assert set(data["sources"]) == {"u1", "u2"}
    assert data["sources"]["u2"]["text"] == "The limit is 50 pods."
    assert "40 pods" not in json.dumps(data)


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    data = exported(threads_of(remembered(tmp_path, ["x" * 5_000])), OPS)
    (said,) = data["turns"][0]["said"]
    assert (len(said["text"]), said["left_out"]) == (MESSAGE_CHARS, 5_000 - MESSAGE_CHARS)


def test_what_commits_share_is_in_an_export_once(tmp_path: Path) -> None:
    said = ["Never restart db-1.", *(f"Is node-{n} ready?" for n in range(30))]
    data = exported(threads_of(remembered(tmp_path, said)), OPS)
    rules = [value for value in data["pool"] if isinstance(value, dict) and "words" in value]
    assert len(data["turns"]) == len(said)
    assert len([each for each in rules if each["slot"] == "constraints"]) == 1
    assert all(isinstance(item, int) for turn in data["turns"] for item in turn["items"])


def test_a_thread_without_a_commit_has_no_page(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.append("ops", messages_of(Turn.said("Hello.").numbered(1)))
    with pytest.raises(InputError, match="no commit"):
        page_of(tmp_path)
