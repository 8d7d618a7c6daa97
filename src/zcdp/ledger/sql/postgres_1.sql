-- The ledger, version 1, on PostgreSQL (13 or newer, encoding UTF8). All changes go through the functions below, one
-- transaction each; the row of `ledger` is the lock and holds the head of the chain. See roles.sql for who may do what.
CREATE SCHEMA zcdp_ledger;
REVOKE ALL ON SCHEMA zcdp_ledger FROM PUBLIC;

CREATE TABLE zcdp_ledger.ledger (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    format integer NOT NULL,
    length bigint NOT NULL,
    head text NOT NULL
);
CREATE TABLE zcdp_ledger.account (
    name text COLLATE "C" PRIMARY KEY,
    terms text NOT NULL,
    budget text NOT NULL,
    spent text NOT NULL
);
CREATE TABLE zcdp_ledger.entry (
    seq bigint PRIMARY KEY,
    at text NOT NULL,
    kind text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    what text NOT NULL,
    amount text NOT NULL,
    why text NOT NULL,
    who text NOT NULL,
    login text NOT NULL,
    version text NOT NULL,
    hash text NOT NULL
);
CREATE UNIQUE INDEX entry_once ON zcdp_ledger.entry (account, key, kind) WHERE key <> '';
CREATE TABLE zcdp_ledger.sealed (
    account text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (account, key)
);

-- A slip of the hand is stopped here; whoever drops these triggers first is found by the chain.
CREATE FUNCTION zcdp_ledger.stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what is on the record is only added to' USING ERRCODE = 'ZC009';
END $$;
CREATE TRIGGER entry_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON zcdp_ledger.entry
    FOR EACH STATEMENT EXECUTE FUNCTION zcdp_ledger.stays();
CREATE TRIGGER sealed_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON zcdp_ledger.sealed
    FOR EACH STATEMENT EXECUTE FUNCTION zcdp_ledger.stays();

-- Every amount is a whole multiple of one over this number, as in accounting/cost.py.
CREATE FUNCTION zcdp_ledger.grid() RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT (@GRID@)::numeric
$$;

-- Takes the lock, until the end of the transaction; sees to it that a commit waits for the disk, and that the program
-- that calls knows this version of the ledger.
CREATE FUNCTION zcdp_ledger.take(p_format integer) RETURNS zcdp_ledger.ledger LANGUAGE plpgsql AS $$
DECLARE
    found zcdp_ledger.ledger;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a ledger is written in transactions of level READ COMMITTED' USING ERRCODE = 'ZC006';
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT * INTO STRICT found FROM zcdp_ledger.ledger FOR UPDATE;
    IF found.format IS DISTINCT FROM p_format THEN
        RAISE EXCEPTION 'the ledger is of schema %, this zcdp knows %', found.format, p_format USING ERRCODE = 'ZC006';
    END IF;
    RETURN found;
END $$;

CREATE FUNCTION zcdp_ledger.field(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(convert_to(given, 'UTF8')) || ':' || given || ','
$$;

-- Adds one entry to the chain; the caller holds the lock.
CREATE FUNCTION zcdp_ledger.append(
    before zcdp_ledger.ledger, p_kind text, p_account text, p_key text, p_what text, p_amount text,
    p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql AS $$
DECLARE
    made zcdp_ledger.entry;
BEGIN
    made.seq := before.length + 1;
    made.at := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    made.kind := p_kind;
    made.account := p_account;
    made.key := p_key;
    made.what := p_what;
    made.amount := p_amount;
    made.why := p_why;
    made.who := p_who;
    made.login := session_user;
    made.version := p_version;
    made.hash := encode(sha256(convert_to(
        zcdp_ledger.field('zcdp-ledger-1') || zcdp_ledger.field(before.head) || zcdp_ledger.field(made.seq::text)
        || zcdp_ledger.field(made.at) || zcdp_ledger.field(made.kind) || zcdp_ledger.field(made.account)
        || zcdp_ledger.field(made.key) || zcdp_ledger.field(made.what) || zcdp_ledger.field(made.amount)
        || zcdp_ledger.field(made.why) || zcdp_ledger.field(made.who) || zcdp_ledger.field(made.login)
        || zcdp_ledger.field(made.version), 'UTF8')), 'hex');
    INSERT INTO zcdp_ledger.entry SELECT made.*;
    UPDATE zcdp_ledger.ledger SET length = made.seq, head = made.hash;
    RETURN made;
END $$;

-- Refuses what no program of ours sends: sums would grow without end, or a page could not show it.
CREATE FUNCTION zcdp_ledger.accept(p_account text, p_key text, p_what text, p_why text, p_who text, p_version text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_account IS NULL OR p_key IS NULL OR p_what IS NULL OR p_why IS NULL OR p_who IS NULL OR p_version IS NULL
        OR length(p_account) NOT BETWEEN 1 AND 200 OR length(p_key) > 200 OR length(p_what) > 1000000
        OR length(p_why) > 4000 OR length(p_who) > 4000 OR length(p_version) > 200
        OR p_account ~ '[\u0001-\u001f\u007f]' OR p_key ~ '[\u0001-\u001f\u007f]' THEN
        RAISE EXCEPTION 'a text is missing or too long' USING ERRCODE = 'ZC005';
    END IF;
END $$;

-- An amount: whole, or a fraction in lowest terms; its numerator and denominator.
CREATE FUNCTION zcdp_ledger.ratio(given text) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    top numeric;
    bottom numeric := 1;
BEGIN
    IF given IS NULL OR length(given) > 2200 OR given !~ '^(0|[1-9][0-9]*)(/[1-9][0-9]*)?$' THEN
        RAISE EXCEPTION 'not an amount' USING ERRCODE = 'ZC005';
    END IF;
    top := split_part(given, '/', 1)::numeric;
    IF strpos(given, '/') > 0 THEN
        bottom := split_part(given, '/', 2)::numeric;
        IF bottom = 1 OR mod(zcdp_ledger.grid(), bottom) <> 0 OR gcd(top, bottom) <> 1 THEN
            RAISE EXCEPTION 'not an amount' USING ERRCODE = 'ZC005';
        END IF;
    END IF;
    RETURN ARRAY[top, bottom];
END $$;

-- The sum of two amounts in lowest terms, as in Knuth, The Art of Computer Programming, volume 2, 4.5.1.
CREATE FUNCTION zcdp_ledger.plus(a numeric[], b numeric[]) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    common numeric := gcd(a[2], b[2]);
    part numeric := div(a[2], common);
    top numeric := a[1] * div(b[2], common) + b[1] * part;
    rest numeric := gcd(top, common);
BEGIN
    RETURN ARRAY[div(top, rest), part * div(b[2], rest)];
END $$;

CREATE FUNCTION zcdp_ledger.spell(a numeric[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN a[2] = 1 THEN a[1]::text ELSE a[1]::text || '/' || a[2]::text END
$$;

CREATE FUNCTION zcdp_ledger.begin_ledger(p_format integer, p_id text, p_version text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    before zcdp_ledger.ledger;
BEGIN
    INSERT INTO zcdp_ledger.ledger (format, length, head) VALUES (p_format, 0, repeat('0', 64));
    before := zcdp_ledger.take(p_format);
    PERFORM zcdp_ledger.append(before, 'ledger', '', '', p_id, '', '', '', p_version);
END $$;

CREATE FUNCTION zcdp_ledger.open_account(
    p_format integer, p_account text, p_terms text, p_budget text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before zcdp_ledger.ledger;
    made zcdp_ledger.entry;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, '', p_terms, p_why, p_who, p_version);
    PERFORM zcdp_ledger.ratio(p_budget);
    before := zcdp_ledger.take(p_format);
    PERFORM 1 FROM zcdp_ledger.account WHERE name = p_account;
    IF FOUND THEN
        RAISE EXCEPTION 'the account is there' USING ERRCODE = 'ZC002';
    END IF;
    INSERT INTO zcdp_ledger.account VALUES (p_account, p_terms, p_budget, '0');
    made := zcdp_ledger.append(before, 'open', p_account, '', p_terms, p_budget, p_why, p_who, p_version);
    RETURN made;
END $$;

-- The debit: check and charge under one lock. The same key again is the same debit; for something else, a conflict.
CREATE FUNCTION zcdp_ledger.spend(
    p_format integer, p_account text, p_key text, p_what text, p_cost text, p_why text, p_who text, p_version text,
    OUT repeated boolean, OUT made zcdp_ledger.entry
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before zcdp_ledger.ledger;
    mine zcdp_ledger.account;
    cost numeric[];
    budget numeric[];
    total numeric[];
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, p_what, p_why, p_who, p_version);
    cost := zcdp_ledger.ratio(p_cost);
    IF p_key = '' OR cost[1] <= 0 THEN
        RAISE EXCEPTION 'a spend has a key and a cost' USING ERRCODE = 'ZC005';
    END IF;
    before := zcdp_ledger.take(p_format);
    SELECT * INTO mine FROM zcdp_ledger.account WHERE name = p_account;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such account' USING ERRCODE = 'ZC003';
    END IF;
    SELECT * INTO made FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'spend' AND key <> '';
    IF FOUND THEN
        IF made.what <> p_what THEN
            RAISE EXCEPTION 'the key was used for something else' USING ERRCODE = 'ZC002';
        END IF;
        repeated := true;
        RETURN;
    END IF;
    total := zcdp_ledger.plus(zcdp_ledger.ratio(mine.spent), cost);
    budget := zcdp_ledger.ratio(mine.budget);
    IF total[1] * budget[2] > budget[1] * total[2] THEN
        RAISE EXCEPTION 'the cost exceeds what remains' USING ERRCODE = 'ZC001', DETAIL = mine.budget || ' ' || mine.spent;
    END IF;
    made := zcdp_ledger.append(before, 'spend', p_account, p_key, p_what, p_cost, p_why, p_who, p_version);
    UPDATE zcdp_ledger.account SET spent = zcdp_ledger.spell(total) WHERE name = p_account;
    repeated := false;
END $$;

CREATE FUNCTION zcdp_ledger.raise_budget(
    p_format integer, p_account text, p_terms text, p_budget text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before zcdp_ledger.ledger;
    mine zcdp_ledger.account;
    made zcdp_ledger.entry;
    wanted numeric[];
    had numeric[];
BEGIN
    PERFORM zcdp_ledger.accept(p_account, '', p_terms, p_why, p_who, p_version);
    wanted := zcdp_ledger.ratio(p_budget);
    before := zcdp_ledger.take(p_format);
    SELECT * INTO mine FROM zcdp_ledger.account WHERE name = p_account;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such account' USING ERRCODE = 'ZC003';
    END IF;
    had := zcdp_ledger.ratio(mine.budget);
    IF wanted[1] * had[2] <= had[1] * wanted[2] OR p_why = '' THEN
        RAISE EXCEPTION 'a budget is raised, with a reason' USING ERRCODE = 'ZC004', DETAIL = mine.budget;
    END IF;
    made := zcdp_ledger.append(before, 'raise', p_account, '', p_terms, p_budget, p_why, p_who, p_version);
    UPDATE zcdp_ledger.account SET budget = p_budget, terms = p_terms WHERE name = p_account;
    RETURN made;
END $$;

-- The first seal wins; what comes back is what is sealed, whoever sealed it.
CREATE FUNCTION zcdp_ledger.seal(
    p_format integer, p_account text, p_key text, p_bytes bytea, p_who text, p_version text
) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before zcdp_ledger.ledger;
    there bytea;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, '', '', p_who, p_version);
    IF p_bytes IS NULL OR octet_length(p_bytes) > 67108864 THEN
        RAISE EXCEPTION 'no bytes, or too many' USING ERRCODE = 'ZC005';
    END IF;
    before := zcdp_ledger.take(p_format);
    SELECT bytes INTO there FROM zcdp_ledger.sealed WHERE account = p_account AND key = p_key;
    IF FOUND THEN
        RETURN there;
    END IF;
    PERFORM 1 FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'spend' AND key <> '';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing was spent under this key' USING ERRCODE = 'ZC004';
    END IF;
    INSERT INTO zcdp_ledger.sealed VALUES (p_account, p_key, p_bytes);
    PERFORM zcdp_ledger.append(
        before, 'seal', p_account, p_key, 'sha256:' || encode(sha256(p_bytes), 'hex'), '', '', p_who, p_version);
    RETURN p_bytes;
END $$;

-- Hands out the sealed bytes, and puts the first time on the record.
CREATE FUNCTION zcdp_ledger.deliver(
    p_format integer, p_account text, p_key text, p_who text, p_version text
) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before zcdp_ledger.ledger;
    there bytea;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, '', '', p_who, p_version);
    before := zcdp_ledger.take(p_format);
    SELECT bytes INTO there FROM zcdp_ledger.sealed WHERE account = p_account AND key = p_key;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing is sealed under this key' USING ERRCODE = 'ZC004';
    END IF;
    PERFORM 1 FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'deliver' AND key <> '';
    IF NOT FOUND THEN
        PERFORM zcdp_ledger.append(before, 'deliver', p_account, p_key, '', '', '', p_who, p_version);
    END IF;
    RETURN there;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA zcdp_ledger FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA zcdp_ledger FROM PUBLIC;
