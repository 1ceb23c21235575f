"""Facts that a tool lists as plain "key: value" lines."""

from __future__ import annotations

_LINE = re.compile(
    r"^[ \t]*[\"']?(?P<key>[A-Za-z]+(?:[ _-][A-Za-z]+){0,3})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<value>[^\s\"'{}\[\],][^\n\"{}\[\]|]{0,80}?)[\"']?,?[ \t]{0,4}\r?$",
    re.M,
)
_HEADERS = frozenset("from to cc bcc subject date sent re note memo warning todo instruction instructions http https".split())




def _listed(reading: Reading, asked: frozenset[str]) -> Iterator[Fact]:
    """ "key: value" lines of a tool whose key the user asked for."""
    for tool in reading.tools:
        about = next(_identifiers(reading.user), tool.name or "result")
        for match in _LINE.finditer(tool.text):
            key = match["key"].strip()
            if key.lower() in _HEADERS or not stems(key) & asked:
                continue
            yield Fact(about, key.lower(), match["value"].strip(), "observed", (tool.ref,))


def _identifiers(said: Sequence[Said]) -> Iterator[str]:
    for sentence in said:
        yield from (n.name for n in named_in(sentence.text) if n.type not in ("name", "person"))
