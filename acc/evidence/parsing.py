"""Read files as text, section by section: plain text, Markdown, HTML and PDF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from acc.errors import InputError, extra
from acc.folders import file_errors
from acc.turn.observations import storable

LARGEST = 64 * 1024 * 1024
"""Limit, in bytes, of a file."""


class Section(NamedTuple):
    """A section of a document; its place is ``page 3``, or its headings: ``Backups > Restore``."""

    text: str
    place: str = ""


def files_of(paths: Path | str | Iterable[Path | str]) -> list[Path]:
    """Return the files that paths name; of a folder, the documents below it.

    Raises:
        InputError: A path is no file, and no folder with documents.
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        inside = [path] if path.is_file() else _below(path)
        if not inside:
            raise InputError(
                "this path is no file, and no folder with documents", where=str(path),
                hint=f"name files of these kinds, or their folder: {' '.join(sorted(READERS))}",
            )  # fmt: skip
        found += inside
    return list(dict.fromkeys(found))


def _below(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() in READERS
        and not any(name.startswith(".") for name in path.relative_to(folder).parts)
    )  # fmt: skip


def sections(path: Path) -> list[Section]:
    """Return the sections of a file that contain text."""
    read = READERS.get(path.suffix.lower())
    if read is None:
        known = " ".join(sorted(READERS))
        raise InputError(
            "files of this kind cannot be ingested", where=str(path), hint=f"give one of: {known}"
        )
    with file_errors(
        InputError, "the file cannot be read", where=path, hint="name a readable file"
    ):
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"the file is larger than {LARGEST >> 20} MB",
                where=str(path),
                hint="split the file, and ingest the parts",
            )
        data = path.read_bytes()
    found = [Section(storable(s.text), storable(s.place)) for s in read(data, path)]
    if not any(section.text.strip() for section in found):
        is_pdf = path.suffix.lower() == ".pdf"
        hint = "a scanned PDF needs text recognition first" if is_pdf else "name a file with text"
        raise InputError("the file contains no text", where=str(path), hint=hint)
    return [section for section in found if section.text.strip()]


def _plain(data: bytes, path: Path) -> list[Section]:
    return [Section(_decoded(data, path))]


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8", where=str(path), hint="save the file as UTF-8"
        ) from error


_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_FENCED_LINE = re.compile(r"^\s*```+[^`]+```+")
"""Code that opens and closes on one line starts no fence."""

Above = list[tuple[int, str]]
"""The headings above a line, each with its level, 1 to 6."""


def _under(above: Above, level: int, title: str) -> Above:
    """Return the headings above the text after a new heading: itself, and those of lower levels."""
    return [*(each for each in above if each[0] < level), (level, title)]


def _path_of(above: Above) -> str:
    return " > ".join(title for _, title in above)


def _markdown(data: bytes, path: Path) -> list[Section]:
    found: list[Section] = []
    above: Above = []
    lines: list[str] = []
    fenced = False
    for line in _decoded(data, path).splitlines(keepends=True):
        if _FENCE.match(line) and (fenced or not _FENCED_LINE.match(line)):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line.rstrip("\r\n"))
        if heading:
            found.append(Section("".join(lines), _path_of(above)))
            lines = []
            above = _under(above, len(heading[1]), heading[2])
        lines.append(line)
    found.append(Section("".join(lines), _path_of(above)))
    return found


_BLOCK_TAGS = """
    p div section article header footer main nav aside ul ol li table tr td th pre br hr blockquote
    dl dt dd form figure figcaption h1 h2 h3 h4 h5 h6 body
"""


class _Text(HTMLParser):
    """Visible text of a page: a line per block, a section per heading."""

    _HIDDEN = frozenset({"script", "style", "template", "noscript", "title", "svg"})
    _BLOCKS = frozenset(_BLOCK_TAGS.split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[Section] = []
        self._above: Above = []
        self._text: list[str] = []
        self._hidden = 0
        self._heading = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self._HIDDEN:
            self._hidden += 1
        if tag in self._BLOCKS:
            self._text.append("\n")
        if re.fullmatch("h[1-6]", tag):
            self.end()
            self._heading = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        if tag in self._HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        if self._heading and tag == f"h{self._heading}":
            title = " ".join("".join(self._text).split())
            self._above = _under(self._above, self._heading, title)
            self._heading = 0
        if tag in self._BLOCKS:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(re.sub(r"\s+", " ", data))

    def end(self) -> None:
        """Close the section."""
        lines = (" ".join(line.split()) for line in "".join(self._text).split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            self.sections.append(Section(text, _path_of(self._above)))
        self._text = []


def _html(data: bytes, path: Path) -> list[Section]:
    parser, page = _Text(), _decoded(data, path)
    try:
        parser.feed(page)
        parser.close()
    except AssertionError as error:  # html.parser on malformed declarations
        raise InputError(
            f"the page cannot be read: {error}", where=str(path), hint="save it again as HTML"
        ) from error
    parser.end()
    return parser.sections


def _pdf(data: bytes, path: Path) -> list[Section]:
    with extra("pdf", "the library that reads PDF files is not installed", where=str(path)):
        import pypdf
    try:
        pages = pypdf.PdfReader(BytesIO(data)).pages
        return [
            Section(page.extract_text() or "", f"page {number}")
            for number, page in enumerate(pages, 1)
        ]
    except Exception as error:  # pypdf raises arbitrary errors on a damaged file
        raise InputError(
            f"the PDF cannot be read: {type(error).__name__}: {error}"[:300],
            where=str(path),
            hint="open the file, and save it again without a password",
        ) from error


READERS: dict[str, Callable[[bytes, Path], list[Section]]] = {
    ".txt": _plain,
    ".text": _plain,
    ".log": _plain,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
}
