"""Heads kept outside: who rewrites a journal, rewrites them, too, unless they lie elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from acc.errors import InputError, StoreError
from acc.evidence.base import Base
from acc.folders import expanded, file_errors, opened_private
from acc.journal import Head, ThreadKey


class Heads(Base):
    """Writes heads, and checks those that were kept."""

    def write_heads(self, out: Path | str, **scope: str | None) -> int:
        """Write the heads of a scope to a file, to be kept elsewhere, a JSON line each; return how many.

        Raises:
            StoreError: It cannot be written.
        """
        keys, file, what = set(self.threads(**scope)), expanded(out), "the heads cannot be written"
        heads = [head for head in self.journal.heads() if head.thread in keys and head.hash]
        with (
            file_errors(StoreError, what, where=file, hint="check the disk"),
            opened_private(file, "w", encoding="utf-8") as lines,
        ):
            for head in heads:
                lines.write(f"{_line(head)}\n")
        return len(heads)

    def check_heads(self, heads: Iterable[Head]) -> tuple[str, ...]:
        """Return what is wrong with heads that were kept elsewhere (`read_heads`): each has to be a commit still.

        It looks for the commits alone; `acc.journal.journal.Journal.verify` recomputes everything.
        """
        wrong = []
        for head in heads:
            where = f"{head.thread}, branch {head.branch}, version {head.version}"
            found = self.journal.commit_with(head.thread, head.hash)
            if found is not None and (found.branch, found.version) == (head.branch, head.version):
                continue
            if self.journal.was_erased(head.thread, head.hash):
                wrong.append(f"{where}: an erasure took it away; anchor the heads again")
            else:
                wrong.append(f"{where}: it is not in the journal")
        return tuple(wrong)


def _line(head: Head) -> str:
    own = {"branch": head.branch, "version": head.version, "hash": head.hash}
    return json.dumps({**vars(head.thread), **own}, sort_keys=True)


def read_heads(path: Path) -> tuple[Head, ...]:
    """Return the heads of a file.

    Raises:
        InputError: It is no file of heads.
    """
    hint = "give a file that acc heads --out wrote"
    with file_errors(InputError, "the heads cannot be read", where=path, hint=hint):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(_head(line, f"{path}, line {n}", hint) for n, line in enumerate(lines, 1) if line)


def _head(line: str, where: str, hint: str) -> Head:
    try:
        body = json.loads(line)
        key = ThreadKey(**{name: str(body[name]) for name in vars(ThreadKey(""))})
        return Head(key, str(body["branch"]), str(body["hash"]), int(body["version"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("the line is no head", where=where, hint=hint) from error
