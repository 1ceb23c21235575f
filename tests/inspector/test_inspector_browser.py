"""The page in a browser: a person reads and follows; hostile words stay words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers_inspector import (
    HOSTILE,
    SAID,
    erased,
    remembered,
)

from acc.journal import Journal, ThreadKey

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed: apt install chromium"),
]

WAIT = 20_000
"""Milliseconds that a step of the page may take on a busy machine."""

AGENT = """
import sys
from acc.controller.controller import MemoryController
from acc.turn.turn import Turn
with MemoryController.open(sys.argv[1], store="none") as memory:
    for line in sys.stdin:
        print(memory.step(None, Turn.said(line.strip()), thread="ops").state.turn, flush=True)
"""

SERVER = """
import asyncio, sys
from functools import partial
from acc.journal import Journal
from acc.cli.serve import bound, serve, url_of
from acc.inspector.server import application
from acc.inspector.threads import Threads
with Journal.open(sys.argv[1], reads_only=True) as journal, bound(0, "") as at:
    print(url_of(at), flush=True)
    serve(application(Threads(journal), partial(asyncio.sleep, 0.1)), at)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must neither open a dialog, nor log a fault, nor ask another host."""
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    expect.set_options(timeout=WAIT)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on(
        "console", lambda message: faults.append(message.text) if message.type == "error" else None
    )
    opened.on("request", lambda asked: None if own(asked.url) else faults.append(asked.url))
    yield opened
    context.close()
    # The browser logs refused requests, and that the server went away at the end.
    assert [fault for fault in faults if not re.search("status of 40|net::ERR_", fault)] == []


def own(url: str) -> bool:
    return url.startswith("http://127.0.0.1:")


@contextmanager
def serving(memory: Path) -> Iterator[str]:
    """The address of an inspector in another process."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(memory)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@contextmanager
def agent(memory: Path) -> Iterator[Callable[[str], None]]:
    """An agent in another process; says a turn and waits for its commit."""
    process = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(memory)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def says(words: str) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{words}\n")
        process.stdin.flush()
        assert process.stdout.readline().strip().isdigit()

    try:
        yield says
    finally:
        process.communicate(timeout=60)


def sections(page: Page) -> dict[str, str]:
    return {
        card.locator("h2").inner_text(): card.inner_text()
        for card in page.locator("#turn .card").all()
    }


def test_a_person_finds_a_thread_and_reads_its_turns(page: Page, tmp_path: Path) -> None:
    memory = remembered(tmp_path / "memory")
    remembered(memory, ["Is node-9 up?"], ThreadKey("billing", user="ann"))
    with serving(memory) as address:
        page.goto(address)
        rows = page.locator("#threads tbody tr")
        expect(rows).to_have_count(2)
        page.keyboard.press("/")
        page.keyboard.type("ANN bill")
        expect(rows).to_have_count(1)
        expect(page.locator("#count")).to_have_text("1 of 2 threads")
        page.locator("#search").fill("ops")
        page.get_by_role("link", name="ops").click()
        expect(page.locator("#thread-title")).to_have_text("ops")
        expect(page.locator("#number")).to_have_value("3")
        # Version 1 by the slider: the rule is new, and its source has the quoted words marked.
        page.locator("#slider").fill("0")
        expect(page.locator("#number")).to_have_value("1")
        expect(page.locator("#turn .message .said").first).to_have_text(SAID[0])
        expect(page.locator(".items .item.added").first).to_be_visible()
        expect(page.locator("#tail .said")).to_have_text(SAID[0])
        assert "added" in sections(page)["What changed, and why"]
        page.locator(".item", has_text="Never restart db-1").first.click()
        expect(page.locator("#drawer mark")).to_have_text("Never restart db-1.")
        expect(page.locator("#drawer .said")).to_have_text(SAID[0])
        page.keyboard.press("Escape")
        expect(page.locator("#drawer")).not_to_be_visible()
        page.get_by_role("button", name="Text").click()
        expect(page.locator("pre.rendered")).to_contain_text("Rules, word for word; they bind.")
        page.get_by_role("button", name="Items").click()
        # The keys go through the commits. The last one judged the claim that the rule ended.
        page.locator("h1#thread-title").click()
        page.keyboard.press("End")
        expect(page.locator("#where")).to_contain_text("a second reading of rules said to end")
        expect(page.locator(".item .beside").first).to_contain_text(
            "user: You may restart db-1 now."
        )
        expect(page.locator(".item .beside").nth(1)).to_contain_text("a second reading agreed")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#where")).to_contain_text("version 3")
        expect(page.locator("#turn .message .said").first).to_have_text(SAID[2])
        expect(page.locator(".verdicts .said").first).to_have_text("What is the state of node-7?")
        page.locator("button.ref", has_text="u1").first.click()
        expect(page.locator("#drawer .said")).to_have_text(SAID[0])
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Read and transcript").click()
        expect(page.locator("#legend")).to_contain_text("transcript")
        page.reload()
        expect(page.locator("#where")).to_contain_text("version 3")
        expect(page.locator("#turn .card").first).to_be_visible()
        if folder := os.environ.get("ACC_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/turn.png", full_page=True)


def test_the_page_follows_an_agent_in_another_process(page: Page, tmp_path: Path) -> None:
    memory = remembered(tmp_path / "memory", SAID[:1])
    with agent(memory) as says, serving(memory) as address:
        says(SAID[1])
        page.goto(address)
        expect(page.locator("#threads tbody td.right").first).to_have_text("2")
        says("Is node-8 ready?")
        expect(page.locator("#threads tbody td.right").first).to_have_text("3")
        page.locator("#threads a").click()
        expect(page.locator("#number")).to_have_value("3")
        says("Never reboot node-8.")
        expect(page.locator("#number")).to_have_value("4")
        expect(page.locator("#turn")).to_contain_text("Never reboot node-8")
        # Who looks at an earlier commit stays there while later ones come.
        page.locator("#before").click()
        expect(page.locator("#number")).to_have_value("3")
        says("Is node-9 ready?")
        expect(page.locator("#where")).to_contain_text("of 5")
        expect(page.locator("#number")).to_have_value("3")


def test_an_open_page_lets_go_of_what_others_erase(page: Page, tmp_path: Path) -> None:
    memory = remembered(tmp_path / "memory")
    with Journal.open(memory) as journal, serving(memory) as address:
        page.goto(address)
        page.locator("#threads a").click()
        page.locator("#slider").fill("1")
        page.locator("button.ref", has_text="u2").first.click()
        expect(page.locator("#drawer .said")).to_have_text(SAID[1])
        erased(memory, "u2")
        expect(page.locator("#drawer")).not_to_be_visible()
        assert "40 pods" not in page.content()
        page.keyboard.press("Home")
        expect(page.locator("#turn .message").first).to_contain_text(SAID[0])
        page.locator("button.ref", has_text="u1").first.click()
        expect(page.locator("#drawer .said")).to_have_text(SAID[0])
        journal.delete_thread("ops")
        expect(page.locator("#list")).to_contain_text("No thread has a commit yet")
        expect(page.locator("#notice")).to_contain_text("no such thread")
        assert "db-1" not in page.content()
        left = page.evaluate("JSON.stringify([...details.values(), shownTurn, path])")
        assert left == "[null,[]]"


def test_hostile_words_are_only_words(page: Page, tmp_path: Path) -> None:
    words = HOSTILE.rstrip("\ud800")
    said = [words, f"Never restart {'A' * 200_000}", "Ok?"]
    memory = remembered(tmp_path / "memory", said, ThreadKey(words, user=words))
    with serving(memory) as address:
        page.goto(address)
        expect(page.locator("#threads a")).to_contain_text(
            "<img src=x onerror=alert(2)> U+202EU+2066txetU+2069 U+001B"
        )
        page.locator("#threads a").click()
        page.wait_for_selector("#turn .card")
        page.locator("#slider").fill("0")
        expect(page.locator("#number")).to_have_value("1")
        expect(page.locator("#turn .said").first).to_contain_text("<script>alert(1)</script>")
        assert page.locator("main img, main script").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
        page.locator("#slider").fill("1")
        more = page.locator("#turn .more").first
        expect(more).to_be_visible()
        assert len(page.locator("#turn .message .said").first.inner_text()) < 2_000
        more.click()
        expect(page.locator("#turn .message .said").first).to_have_text(re.compile("A{9999}"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [380, 1280])
def test_a_thread_fits_any_screen(width: int, browser: Browser, tmp_path: Path) -> None:
    memory = remembered(tmp_path / "memory")
    context = browser.new_context(viewport={"width": width, "height": 800})
    opened = context.new_page()
    with serving(memory) as address:
        opened.goto(address)
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
        opened.locator("#threads a").click()
        opened.wait_for_selector("#turn .card")
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_hundreds_of_turns_open_with_what_a_few_need(page: Page, tmp_path: Path) -> None:
    said = [f"Host web-{n} runs shop {n}." for n in range(400)]
    asked: list[str] = []
    with serving(remembered(tmp_path / "memory", said)) as address:
        page.goto(address)
        page.on("request", lambda request: asked.append(request.url))
        page.locator("#threads a").click()
        expect(page.locator("#number")).to_have_value("400")
        expect(page.locator("#turn .card").first).to_be_visible()
        # One request for the list of commits, one for the newest; the drawing does not grow with them.
        assert len([url for url in asked if "/api/turn" in url]) == 1
        assert page.locator("#chart path").count() < 20
        assert page.locator("#turn *").count() < 3_000
        page.locator("#slider").fill("200")
        expect(page.locator("#turn .message")).not_to_have_count(0)
        expect(page.locator("#number")).to_have_value("201")
