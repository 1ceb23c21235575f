"""The page's text: it runs its own script alone, loads nothing, and sets no foreign text as HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from inspected import HOSTILE, many_turns, only_log, remembered

from acc import Turn
from acc.cli.inspect import reader_of
from acc.inspector.logs import Logs
from acc.inspector.page import MESSAGE_CHARS, SCRIPTS, exported, exported_page, live_page


def page_of(folder: Path) -> str:
    return exported_page(Logs(folder), only_log(folder), reader_of(None), "A <title>")


@pytest.fixture
def pages(tmp_path: Path) -> list[str]:
    remembered(tmp_path, [HOSTILE, "Never restart db-1."])
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
    there = {each.name for each in files("acc.inspector").iterdir() if each.name.endswith(".js")}
    assert there == set(SCRIPTS)


def test_light_and_dark_define_the_same_colours() -> None:
    style = files("acc.inspector").joinpath("style.css").read_text("utf-8")
    light, dark = (
        set(re.findall(r"--([\w]+):", block)) for block in re.findall(r":root\{([^}]*)", style)
    )
    assert light == dark
    assert set(re.findall(r"var\(--([\w]+)\)", style)) <= light


def test_an_export_has_the_turns_that_led_to_the_newest_state_alone(tmp_path: Path) -> None:
    memory = remembered(tmp_path, ["Never restart db-1."])
    first = memory.last_state("ops")
    remembered_words = ("The limit is 40 pods.", "The limit is 50 pods.")
    for words in remembered_words:
        memory.step(first, Turn.said(words), thread="ops")
    data = exported(Logs(tmp_path), only_log(tmp_path), reader_of(None))
    assert [turn["said"][0]["text"] for turn in data["turns"]] == [
        "Never restart db-1.",
        remembered_words[1],
    ]
    assert [entry["prior"] for entry in data["entries"]] == [None, 0]


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    remembered(tmp_path, ["x" * 5_000])
    data = exported(Logs(tmp_path), only_log(tmp_path), reader_of(None))
    (said,) = data["turns"][0]["said"]
    assert (len(said["text"]), said["left_out"]) == (MESSAGE_CHARS, 5_000 - MESSAGE_CHARS)


def test_what_turns_share_is_in_an_export_once(tmp_path: Path) -> None:
    remembered(tmp_path)
    path = tmp_path / only_log(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    sizes = []
    for turns in (30, 60):
        path.write_bytes(b"".join(many_turns(lines, turns)))
        data = exported(Logs(tmp_path), path.name, reader_of(None))
        assert len(data["turns"]) == turns
        sizes.append((len(data["pool"]), len(json.dumps(data["sources"]))))
    assert sizes[0] == sizes[1]
