-- The ledger, version 1, on SQLite. Entries are only ever added; `ledger` and `account` hold running totals of them.
CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL,
    length INTEGER NOT NULL,
    head TEXT NOT NULL
);
CREATE TABLE account (
    name TEXT PRIMARY KEY NOT NULL,
    terms TEXT NOT NULL,
    budget TEXT NOT NULL,
    spent TEXT NOT NULL
);
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    what TEXT NOT NULL,
    amount TEXT NOT NULL,
    why TEXT NOT NULL,
    who TEXT NOT NULL,
    login TEXT NOT NULL,
    version TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE UNIQUE INDEX entry_once ON entry (account, key, kind) WHERE key <> '';
CREATE TABLE sealed (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (account, key)
);
-- A slip of the hand is stopped here; whoever drops these triggers first is found by the chain.
CREATE TRIGGER entry_is_not_edited BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER entry_is_not_removed BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are only added'); END;
CREATE TRIGGER sealed_is_not_edited BEFORE UPDATE ON sealed BEGIN SELECT RAISE(ABORT, 'the first seal stays'); END;
CREATE TRIGGER sealed_is_not_removed BEFORE DELETE ON sealed BEGIN SELECT RAISE(ABORT, 'the first seal stays'); END;
