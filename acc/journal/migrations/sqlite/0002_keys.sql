-- Format 2: keys of the memory's own, made on first use: of the placeholders of secrets, and of marks.

CREATE TABLE keys (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
);

-- Where the memory's artifacts were ever indexed: an erasure has to reach all of it.
CREATE TABLE indexes (
    place TEXT NOT NULL PRIMARY KEY
);
