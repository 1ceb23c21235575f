"""`acc replay --report`: every turn is in the page, and a browser shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conversation_files import agent, as_lines, call, operations, result, user

from acc.cli import run

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


def data_of(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    (inside,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    value: dict[str, Any] = json.loads(inside)
    return value


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    messages = [*operations(3), user("You may restart db-1 now. Which node is node-2?")]
    messages += [
        call("h", "search"),
        result("h", f"node-2 page {HOSTILE}"),
        agent("node-2 is ready."),
    ]
    messages += [user("What did the page about node-2 say?"), agent("Nothing to act on.")]
    return as_lines(tmp_path / "nodes.jsonl", messages)


def test_the_page_holds_what_json_tells(conversation: Path, tmp_path: Path) -> None:
    page, out = tmp_path / "out.html", tmp_path / "out.jsonl"
    assert (
        run(["replay", str(conversation), "--quiet", "--report", str(page), "--json", str(out)])
        == 0
    )
    data = data_of(page)
    told = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [entry["turn"] for entry in data["entries"]] == [1, 2, 3, 4, 5]
    for entry, turn, line in zip(data["entries"], data["turns"], told, strict=True):
        assert "\n".join(data["pool"][n] for n in turn["rendered"]) == line["rendered"]
        assert entry["tokens"] == line["tokens"]
        items = [data["pool"][n] for n in turn["items"]]
        assert {i["id"] for i in items} == {
            i["id"] for slot in {i["slot"] for i in items} for i in line["state"][slot]
        }
        verdicts = [{k: v for k, v in each.items() if k != "text"} for each in turn["verdicts"]]
        assert verdicts == line["verdicts"]
        assert turn["refused"] == line["refused"]
        cited = {ref for item in items for ref in item["sources"]}
        assert cited <= data["sources"].keys()
    last = data["turns"][-1]
    assert last["verdicts"]
    assert all(verdict["text"] for verdict in last["verdicts"])
    # What a tool said is in the data as it was, and nowhere as HTML.
    assert HOSTILE in "".join(part["text"] for part in data["turns"][3]["said"])
    assert HOSTILE not in page.read_text(encoding="utf-8")
    assert data["turns"][0]["said"][0]["text"].startswith("Never restart db-1")
    assert data["sources"]["u1"]["text"] == data["turns"][0]["said"][0]["text"]


def test_turns_of_an_earlier_run_are_in_the_page(conversation: Path, tmp_path: Path) -> None:
    memory = ["--memory", str(tmp_path / "memory"), "--quiet"]
    assert run(["replay", str(conversation), *memory, "--turns", "3"]) == 0
    resumed, whole = tmp_path / "resumed.html", tmp_path / "whole.html"
    assert run(["replay", str(conversation), *memory, "--report", str(resumed)]) == 0
    assert run(["replay", str(conversation), "--quiet", "--report", str(whole)]) == 0
    assert timeless(data_of(resumed)) == timeless(data_of(whole))


def timeless(data: dict[str, Any]) -> Any:
    """The data of a page without what differs between two runs."""
    for part in (*data["entries"], *data["turns"]):
        for name in ("at", "ms", "digest", "sound"):
            part.pop(name, None)
    return data


def test_the_conversation_is_not_overwritten(
    conversation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = conversation.read_bytes()
    assert run(["replay", str(conversation), "--report", str(conversation)]) == 1
    assert "--report would overwrite" in capsys.readouterr().err
    assert conversation.read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="no browser")
def test_a_browser_shows_the_turn_that_is_asked_for(conversation: Path, tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    assert run(["replay", str(conversation), "--quiet", "--report", str(page)]) == 0
    document = in_a_browser(page, "#at=3", tmp_path)
    assert "<title>nodes · ACC inspector</title>" in document
    assert "Exported page" in document
    turn = document.partition('<div id="turn"')[2].partition("<dialog")[0]
    assert "You may restart db-1 now" in turn
    changes = turn.partition("What changed, and why")[2].partition("Refused and evicted")[0]
    assert "retired" in changes
    assert "&lt;img src=x" in turn
    last = data_of(page)["entries"][-1]
    told = f"of 5 · {last['tokens']:,} tokens"
    assert told not in document
    for beyond in ("#at=99", "#at=x", ""):
        assert told in in_a_browser(page, beyond, tmp_path)


def in_a_browser(page: Path, part: str, folder: Path) -> str:
    """The document once its script has run."""
    browser = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    # The page reads its data after it has loaded: virtual time lets its scripts end before the dump.
    profile = [
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=10000",
    ]
    done = subprocess.run(
        [*browser, *profile, "--dump-dom", f"{page.as_uri()}{part}"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr  # no error of the script, nothing that the policy stopped
    return done.stdout
