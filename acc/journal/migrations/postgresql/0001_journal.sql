-- Format 1: the first. Every statement ends with a semicolon at the end of a line.
-- SQLite's migration explains the tables; the columns are the same.

CREATE TABLE format (
    number INTEGER NOT NULL PRIMARY KEY,
    written_by TEXT NOT NULL,
    at TEXT NOT NULL
);

CREATE TABLE threads (
    id BIGSERIAL PRIMARY KEY,
    tenant TEXT NOT NULL,
    "user" TEXT NOT NULL,
    agent TEXT NOT NULL,
    thread TEXT NOT NULL,
    created TEXT NOT NULL,
    UNIQUE (tenant, "user", agent, thread)
);

CREATE TABLE branches (
    id BIGSERIAL PRIMARY KEY,
    thread_id BIGINT NOT NULL REFERENCES threads (id),
    name TEXT NOT NULL,
    ancestry TEXT NOT NULL,
    created TEXT NOT NULL,
    UNIQUE (thread_id, name)
);

CREATE TABLE heads (
    branch_id BIGINT NOT NULL PRIMARY KEY REFERENCES branches (id),
    hash TEXT NOT NULL,
    version BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL
);

CREATE TABLE turns (
    branch_id BIGINT NOT NULL REFERENCES branches (id),
    number BIGINT NOT NULL,
    identity BYTEA NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    PRIMARY KEY (branch_id, number, identity)
);

CREATE TABLE messages (
    id BIGSERIAL PRIMARY KEY,
    branch_id BIGINT NOT NULL REFERENCES branches (id),
    seq BIGINT NOT NULL,
    version BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    ref TEXT NOT NULL,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    call_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    left_out BIGINT NOT NULL,
    at TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (branch_id, seq)
);

CREATE TABLE commits (
    id BIGSERIAL PRIMARY KEY,
    branch_id BIGINT NOT NULL REFERENCES branches (id),
    version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    parent TEXT NOT NULL,
    hash TEXT NOT NULL,
    policy TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at TEXT NOT NULL,
    is_whole INTEGER NOT NULL,
    record BYTEA,
    state BYTEA,
    UNIQUE (branch_id, version)
);

-- Records and states are compressed already.
ALTER TABLE commits ALTER COLUMN record SET STORAGE EXTERNAL;
ALTER TABLE commits ALTER COLUMN state SET STORAGE EXTERNAL;

CREATE TABLE policies (
    fingerprint TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

CREATE TABLE tombstones (
    id BIGSERIAL PRIMARY KEY,
    branch_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    ref TEXT NOT NULL,
    message_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    at TEXT NOT NULL,
    why TEXT NOT NULL
);

CREATE INDEX tombstones_by_digest ON tombstones (digest);

CREATE TABLE holds (
    id BIGSERIAL PRIMARY KEY,
    thread_id BIGINT NOT NULL REFERENCES threads (id),
    ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (thread_id, ref)
);

CREATE TABLE feedback (
    id BIGSERIAL PRIMARY KEY,
    thread_id BIGINT NOT NULL REFERENCES threads (id),
    branch TEXT NOT NULL,
    turn BIGINT NOT NULL,
    ref TEXT NOT NULL,
    utility DOUBLE PRECISION NOT NULL,
    at TEXT NOT NULL
);

CREATE TABLE copies (
    id BIGSERIAL PRIMARY KEY,
    path TEXT NOT NULL,
    what TEXT NOT NULL,
    at TEXT NOT NULL
);

-- Keys of the memory's own, made on first use: of the placeholders of secrets, and of marks.
CREATE TABLE keys (
    name TEXT NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Where the memory's artifacts were ever indexed: an erasure has to reach all of it.
CREATE TABLE indexes (
    place TEXT NOT NULL PRIMARY KEY
);
