-- Format 1: the first. Every statement ends with a semicolon at the end of a line.

CREATE TABLE format (
    number INTEGER NOT NULL PRIMARY KEY,
    written_by TEXT NOT NULL,
    at TEXT NOT NULL
);

-- A conversation, by the names that its application gave.
CREATE TABLE threads (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    created TEXT NOT NULL,
    UNIQUE (tenant, user, agent, thread)
);

-- A line of commits. "ancestry" is a JSON list of [branch id, up to seq], the nearest first: what the branch sees
-- of others. Of itself it sees everything.
CREATE TABLE branches (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    thread_id INTEGER NOT NULL REFERENCES threads (id),
    name TEXT NOT NULL,
    ancestry TEXT NOT NULL,
    created TEXT NOT NULL,
    UNIQUE (thread_id, name)
);

-- The last commit of each branch. The only row that a commit overwrites, by compare-and-swap.
CREATE TABLE heads (
    branch_id INTEGER NOT NULL PRIMARY KEY REFERENCES branches (id),
    hash TEXT NOT NULL,
    version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL
);

-- A turn as it was appended. "identity" is a digest of its messages and of the head that it followed: a repeated
-- step finds its row. Refs name the turn, so that this key also leads to a message's row: it grows at its end only,
-- where an index of refs or hashes would write to a page anywhere.
CREATE TABLE turns (
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    number INTEGER NOT NULL,
    identity BLOB NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (branch_id, number, identity)
) WITHOUT ROWID;

-- What was said. "version" is that of the commit that took the message; 0 while none has.
CREATE TABLE messages (
    id INTEGER NOT NULL PRIMARY KEY,
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    ref TEXT NOT NULL,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    call_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    left_out INTEGER NOT NULL,
    at TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (branch_id, seq)
);

-- What a commit made, and of what. "record" is compressed JSON; "state" is compressed JSON, written against the
-- state before unless "is_whole". Both are NULL where an erasure blanked them.
CREATE TABLE commits (
    id INTEGER NOT NULL PRIMARY KEY,
    branch_id INTEGER NOT NULL REFERENCES branches (id),
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    parent TEXT NOT NULL,
    hash TEXT NOT NULL,
    policy TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    is_whole INTEGER NOT NULL,
    record BLOB,
    state BLOB,
    UNIQUE (branch_id, version)
);

-- The numbers of each policy that commits name by fingerprint, as JSON.
CREATE TABLE policies (
    fingerprint TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- What an erasure blanked. A state that it took away has a row with its hash, no ref and number 0; a whole thread that
-- was deleted, a row of branch 0 with a digest of its names. A row of branch -1 says what the index has yet to lose.
CREATE TABLE tombstones (
    id INTEGER NOT NULL PRIMARY KEY,
    branch_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    ref TEXT NOT NULL,
    message_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at TEXT NOT NULL,
    why TEXT NOT NULL
);

CREATE INDEX tombstones_by_digest ON tombstones (digest);

-- What no deletion may touch: a message, or with an empty ref the whole thread.
CREATE TABLE holds (
    id INTEGER NOT NULL PRIMARY KEY,
    thread_id INTEGER NOT NULL REFERENCES threads (id),
    ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (thread_id, ref)
);

-- How useful evidence was: a message, or with an empty ref everything that the turn admitted.
CREATE TABLE feedback (
    id INTEGER NOT NULL PRIMARY KEY,
    thread_id INTEGER NOT NULL REFERENCES threads (id),
    branch TEXT NOT NULL,
    turn INTEGER NOT NULL,
    ref TEXT NOT NULL,
    utility REAL NOT NULL,
    at TEXT NOT NULL
);

-- Files to which the journal or a part of it was copied. An erasure names them.
CREATE TABLE copies (
    id INTEGER NOT NULL PRIMARY KEY,
    path TEXT NOT NULL,
    what TEXT NOT NULL,
    at TEXT NOT NULL
);

-- Keys of the memory's own, made on first use: of the placeholders of secrets, and of marks.
CREATE TABLE keys (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
);

-- Where the memory's artifacts were ever indexed: an erasure has to reach all of it.
CREATE TABLE indexes (
    place TEXT NOT NULL PRIMARY KEY
);
