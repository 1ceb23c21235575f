"""Documents: text, Markdown, HTML and PDF in parts, each with where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from acc import MemoryController, Settings
from acc.errors import ConfigurationError, ConflictError, InputError, StoreError
from acc.evidence.addition import Addition
from acc.evidence.documents import (
    PART_BYTES,
    Documents,
    files_below,
    partial_ingests,
    split_passages,
    undo_ingests,
)
from acc.evidence.parsing import Section, sections
from acc.evidence.upkeep import check_shelves, resume
from acc.stores.directory import namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact

_OBJECTS = (
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    b"<</Length 63>>stream\nBT /F1 12 Tf 20 200 Td (The ledger is on bkp-3 since May) Tj ET\nendstream",
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
)


def pdf() -> bytes:
    """A PDF of one page, with its table of offsets."""
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(_OBJECTS, 1):
        offsets.append(len(body))
        body += b"%d 0 obj%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(offsets) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return (
        body
        + head
        + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    )


def documents(store: InMemoryStore | None = None, **given: Addition) -> Documents:
    return Documents(store or InMemoryStore(), namespace(), lambda: "now", **given)


def test_markdown_is_cut_at_headings_and_a_fence_is_no_heading(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("Top.\n# One\nText.\n## Two\n```\n# no heading\n```\n# Three\nEnd.\n")
    found = sections(page)
    assert [s.place for s in found] == ["", "One", "One > Two", "Three"]
    assert "# no heading" in found[2].text
    assert "".join(s.text for s in found) == page.read_text()


def test_a_heading_stands_beside_those_of_its_level_whatever_is_above(tmp_path: Path) -> None:
    page = tmp_path / "p.md"
    page.write_text("## X\na\n## Y\nb\n# A\nc\n### C\nd\n### D\ne\n")
    assert [s.place for s in sections(page)] == ["X", "Y", "A", "A > C", "A > D"]
    page = tmp_path / "p.html"
    page.write_text("<h2>X</h2>a<h2>Y</h2>b<h3>Z</h3>c<h2>W</h2>d")
    assert [s.place for s in sections(page)] == ["X", "Y", "Y > Z", "W"]


def test_code_on_one_line_fences_nothing_behind_it(tmp_path: Path) -> None:
    page = tmp_path / "p.md"
    page.write_text("# One\n```make```\n# Two\nText.\n")
    assert [s.place for s in sections(page)] == ["One", "Two"]


def test_a_page_with_a_declaration_that_is_none_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    page.write_text("<p>a</p><![foo[bar]]><p>b</p>")
    with pytest.raises(InputError, match="cannot be read"):
        sections(page)


def test_html_gives_what_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        "<html><head><title>no</title><style>p{}</style><body><h1>One &amp; all</h1><p>Some\n  text."
        "<script>var hidden = 1</script><table><tr><td>a<td>b</table><h2>Two</h2>End<p>of it"
    )
    found = sections(page)
    assert [(s.place, s.text) for s in found] == [
        ("One & all", "One & all\nSome text.\na\nb"), ("One & all > Two", "Two\nEnd\nof it"),
    ]  # fmt: skip


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    page = tmp_path / "a.pdf"
    page.write_bytes(pdf())
    (found,) = sections(page)
    assert (found.place, "ledger is on bkp-3" in found.text) == ("page 1", True)
    page.write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(InputError, match=r"PDF cannot be read|no text"):
        sections(page)


def test_without_the_extra_a_pdf_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    page = tmp_path / "a.pdf"
    page.write_bytes(pdf())
    with pytest.raises(ConfigurationError, match=r"\[pdf\]"):
        sections(page)


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [("a.docx", b"x", "files of this kind"), ("a.txt", b"\xff\xfe\x00", "not UTF-8"), ("a.txt", b" \n", "no text"),
     ("absent.txt", None, "cannot be read")],
)  # fmt: skip
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, data: bytes | None, why: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=why):
        sections(tmp_path / name)


def test_parts_say_where_they_come_from_and_are_small(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# Restore\n\n" + "".join(f"Paragraph {n} {'x' * 300}.\n\n" for n in range(20)))
    shelf = documents()
    done = shelf.ingest(page, name="handbook")
    parts = shelf.shelf.records()
    assert done.parts == len(parts) > 1
    assert all(len(p.text.encode()) <= PART_BYTES for p in parts)
    assert {p.name for p in parts} == {"handbook"}
    assert all(p.sources[0].startswith("sha256:") and p.sources[1] == "Restore" for p in parts)
    assert [p.ref for p in parts] == [f"{done.ref}.{n}" for n in range(1, len(parts) + 1)]
    assert shelf.ingest(page, name="handbook").parts == 0


def test_a_name_that_is_no_text_is_stored_as_such() -> None:
    shelf = documents()
    shelf.add("\udcff.md", [Section("Words.")])
    assert [a.name for a in shelf.shelf.records()] == ["\ufffd.md"]


def test_passages_joined_are_the_text() -> None:
    text = "One.\n\nTwo.\n" + "long line " * 900 + "\n\n\nThree."
    assert "".join(split_passages(text)) == text


def test_what_an_evaluator_refuses_is_in_quarantine() -> None:
    shelf = documents(addition=Addition("strict", lambda _, text: "spam" not in text))
    assert not shelf.add("a.txt", [Section("Buy spam.")]).judgement.admitted
    assert shelf.add("b.txt", [Section("Restore the ledger.")]).judgement.admitted
    assert [a.text for a in shelf.shelf.records()] == ["Restore the ledger."]
    assert [a.text for a in shelf.quarantine.records()] == ["Buy spam."]


def test_folders_give_their_documents_and_nothing_hidden(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", ".hidden.md", ".git/c.md", "sub/d.html", "e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [p.relative_to(tmp_path).as_posix() for p in files_below([tmp_path, tmp_path / "b.md"])]
    assert found == ["a.txt", "b.md", "sub/d.html"]
    with pytest.raises(InputError, match="no folder with documents"):
        files_below([tmp_path / "nothing"])


class Failing(InMemoryStore):
    """Writes a batch of a long document, and fails."""

    shared = True  # type: ignore[assignment]
    failing = True

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        if self.failing and len(artifacts) > 100:
            super().add(tenant, artifacts[:100])
            raise StoreError("the disk is full", where="disk", hint="free some")
        super().add(tenant, artifacts)


LONG = [Section(f"Paragraph {n} of the long handbook.") for n in range(250)]


def begun(store: Failing) -> Documents:
    shelf = documents(store)
    with pytest.raises(StoreError, match="disk is full"):
        shelf.add("long.md", LONG)
    store.failing = False
    return documents(store)


def test_a_document_that_was_begun_is_ended_by_the_next_ingest_of_it() -> None:
    store = Failing()
    shelf = begun(store)
    ((_, ref, name, there, of),) = partial_ingests(store, namespace())
    assert (name, there, of) == ("long.md", 100, 250)
    assert shelf.add("other.md", LONG[:3]).ended is False
    done = shelf.add("long.md", LONG)
    assert (done.ref, done.parts, done.ended) == (ref, 150, True)
    assert partial_ingests(store, namespace()) == []
    again = shelf.add("long.md", LONG)
    assert (again.parts, again.ended) == (0, False)
    assert [a.text for a in shelf.shelf.records() if a.name == "long.md"] == [s.text for s in LONG]


def test_a_doctor_names_what_was_begun_and_takes_it_back() -> None:
    store = Failing()
    shelf = begun(store)
    with MemoryController(store, settings=Settings(audit=None)) as memory:
        assert resume(memory) == []  # another process may be taking it in
        (found,) = check_shelves(memory, "default", repair=False).partial
        assert check_shelves(memory, "default").partial == (found,)
        assert check_shelves(memory, "default") == ((), (), ())
        assert shelf.shelf.records() == []
        done = documents(store).add("long.md", LONG)
        assert (done.parts, done.ended) == (250, False)
        assert check_shelves(memory, "default") == ((), (), ())


def test_one_that_was_taken_back_while_it_was_written_says_so() -> None:
    class Slow(Failing):
        def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
            InMemoryStore.add(self, tenant, artifacts)
            if len(artifacts) > 200:
                undo_ingests(self, namespace(), lambda: "later")

    shelf = documents(Slow())
    with pytest.raises(ConflictError, match="another process undid"):
        shelf.add("long.md", LONG)
    assert len(shelf.shelf.records()) == 250  # all of it was there already


def test_who_came_before_the_directory_is_entered() -> None:
    store = InMemoryStore()
    shelf = documents(store)
    shelf.add("a.md", [Section("Words.")])
    other = Documents(store, namespace(user="ana"), lambda: "now")
    other.add("b.md", [Section("Others.")])
    store.delete("default", store.ids("default", kind="thread"))
    with MemoryController(store, settings=Settings(audit=None)) as memory:
        found = check_shelves(memory, "default", repair=False)
        assert found.unlisted == (namespace(),)
        assert found.nameless == (namespace(user="ana").key,)
        assert check_shelves(memory, "default").unlisted == found.unlisted
        assert check_shelves(memory, "default").unlisted == ()
        other = Documents(store, namespace(user="ana"), lambda: "now")
        other.add("c.md", [Section("More.")])
        assert check_shelves(memory, "default") == ((), (), ())
