-- The ledger, version 2, on SQLite: accounts under accounts, reservations, periods, closed accounts, spends with a delta.
-- Sums become whole numbers of 1/GRID, in decimal digits, which are added without common denominators.
ALTER TABLE account ADD COLUMN above TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN reserved TEXT NOT NULL DEFAULT '0';
ALTER TABLE account ADD COLUMN delta TEXT NOT NULL DEFAULT '0';
ALTER TABLE account ADD COLUMN delta_spent TEXT NOT NULL DEFAULT '0';
ALTER TABLE account ADD COLUMN delta_reserved TEXT NOT NULL DEFAULT '0';
ALTER TABLE account ADD COLUMN period TEXT NOT NULL DEFAULT '';
ALTER TABLE account ADD COLUMN closed TEXT NOT NULL DEFAULT '';
UPDATE account SET budget = in_units(budget), spent = in_units(spent);
-- The open reservations; those that were committed, given back or have expired stand in the entries only.
CREATE TABLE reservation (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    size TEXT NOT NULL,
    delta TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (account, key)
);
CREATE INDEX reservation_until ON reservation (until);
-- Names that may be erased; entries have their commitments. Not part of the chain.
CREATE TABLE person (
    commitment TEXT PRIMARY KEY,
    salt TEXT NOT NULL,
    name TEXT NOT NULL
);
