"""Read documents as text: plain text, Markdown, HTML and PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

from acc.errors import InputError, extra
from acc.folders import file_errors

LARGEST = 64 * 1024 * 1024
"""Limit, in bytes, of a file."""


def files_of(paths: Path | str | Iterable[Path | str]) -> list[Path]:
    """Return the files that paths name; of a folder, the documents below it that are not hidden.

    Raises:
        InputError: A path is no file, and no folder with documents.
    """
    given = [paths] if isinstance(paths, Path | str) else paths
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


def text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: It cannot be read, is of another kind, too large, or has no text.
    """
    kind, where = path.suffix.lower(), str(path)
    if kind not in READERS:
        hint = f"give one of: {' '.join(sorted(READERS))}"
        raise InputError("files of this kind cannot be ingested", where=where, hint=hint)
    what, hint = "the file cannot be read", "name a readable file"
    with file_errors(InputError, what, where=path, hint=hint):
        if path.stat().st_size > LARGEST:
            what, hint = f"the file is larger than {LARGEST >> 20} MB", "split it, ingest the parts"
            raise InputError(what, where=where, hint=hint)
        data = path.read_bytes()
    text = READERS[kind](data, path)
    if not text.strip():
        is_pdf = kind == ".pdf"
        hint = "a scanned PDF needs text recognition first" if is_pdf else "name a file with text"
        raise InputError("the file contains no text", where=where, hint=hint)
    return text


def _plain(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise InputError("the file is not UTF-8", where=str(path), hint=hint) from error


_BLOCK_TAGS = """
    p div section article header footer main nav aside ul ol li table tr td th pre br hr blockquote
    dl dt dd form figure figcaption h1 h2 h3 h4 h5 h6 body
"""


class _Text(HTMLParser):
    """Visible text of a page, a line for each block."""

    _HIDDEN = frozenset({"script", "style", "template", "noscript", "title", "svg"})
    _BLOCKS = frozenset(_BLOCK_TAGS.split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks = [""]
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in self._HIDDEN
        if tag in self._BLOCKS:
            self._blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in self._HIDDEN))
        if tag in self._BLOCKS:
            self._blocks.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._blocks[-1] += data

    def text(self) -> str:
        lines = (" ".join(block.split()) for block in self._blocks)
        return "\n".join(line for line in lines if line)


def _html(data: bytes, path: Path) -> str:
    parser, page = _Text(), _plain(data, path)
    try:
        parser.feed(page)
        parser.close()
    except AssertionError as error:  # html.parser on malformed declarations
        what, hint = f"the page cannot be read: {error}", "save it again as HTML"
        raise InputError(what, where=str(path), hint=hint) from error
    return parser.text()


def _pdf(data: bytes, path: Path) -> str:
    with extra("pdf", "the library that reads PDF files is not installed", where=str(path)):
        import pypdf
    try:
        pages = pypdf.PdfReader(BytesIO(data)).pages
        return "\n\n".join(page.extract_text() or "" for page in pages)
    except Exception as error:  # pypdf raises arbitrary errors on a damaged file
        what = f"the PDF cannot be read: {type(error).__name__}: {error}"[:300]
        hint = "open the file, and save it again without a password"
        raise InputError(what, where=str(path), hint=hint) from error


READERS: dict[str, Callable[[bytes, Path], str]] = {
    **dict.fromkeys((".txt", ".text", ".log", ".md", ".markdown"), _plain),
    **dict.fromkeys((".html", ".htm"), _html),
    ".pdf": _pdf,
}
