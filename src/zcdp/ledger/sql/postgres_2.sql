-- The ledger, version 2, on PostgreSQL: accounts under accounts, reservations, periods, closed accounts, spends with a
-- delta. Sums become whole numbers of 1/GRID, which are added without common denominators.

-- An amount as a whole number of units.
CREATE FUNCTION zcdp_ledger.in_units(given text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    parts numeric[] := zcdp_ledger.ratio(given);
BEGIN
    RETURN parts[1] * div(zcdp_ledger.grid(), parts[2]);
END $$;

ALTER TABLE zcdp_ledger.account
    ALTER COLUMN budget TYPE numeric USING zcdp_ledger.in_units(budget),
    ALTER COLUMN spent TYPE numeric USING zcdp_ledger.in_units(spent),
    ADD COLUMN above text NOT NULL DEFAULT '',
    ADD COLUMN reserved numeric NOT NULL DEFAULT 0,
    ADD COLUMN delta numeric NOT NULL DEFAULT 0,
    ADD COLUMN delta_spent numeric NOT NULL DEFAULT 0,
    ADD COLUMN delta_reserved numeric NOT NULL DEFAULT 0,
    ADD COLUMN period text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN closed text NOT NULL DEFAULT '';
-- The account and all above it, the nearest first.
ALTER TABLE zcdp_ledger.account ADD COLUMN levels text[] COLLATE "C" GENERATED ALWAYS AS (
    CASE WHEN above = '' THEN ARRAY[name] ELSE string_to_array(name || chr(10) || above, chr(10)) END) STORED;
-- What is promised in words, once more where nobody can pass it by: no level is ever above its budget.
ALTER TABLE zcdp_ledger.account
    ADD CHECK (spent >= 0 AND reserved >= 0 AND spent + reserved <= budget),
    ADD CHECK (delta_spent >= 0 AND delta_reserved >= 0 AND delta_spent + delta_reserved <= delta);

-- The open reservations; those that were committed, given back or have expired stand in the entries only.
CREATE TABLE zcdp_ledger.reservation (
    account text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    size numeric NOT NULL,
    delta numeric NOT NULL,
    until text COLLATE "C" NOT NULL,
    PRIMARY KEY (account, key)
);
CREATE INDEX reservation_until ON zcdp_ledger.reservation (until);

DROP FUNCTION zcdp_ledger.begin_ledger(integer, text, text);
DROP FUNCTION zcdp_ledger.open_account(integer, text, text, text, text, text, text);
DROP FUNCTION zcdp_ledger.spend(integer, text, text, text, text, text, text, text);
DROP FUNCTION zcdp_ledger.raise_budget(integer, text, text, text, text, text, text);
DROP FUNCTION zcdp_ledger.seal(integer, text, text, bytea, text, text);
DROP FUNCTION zcdp_ledger.deliver(integer, text, text, text, text);
DROP FUNCTION zcdp_ledger.append(zcdp_ledger.ledger, text, text, text, text, text, text, text, text);
DROP FUNCTION zcdp_ledger.plus(numeric[], numeric[]);
DROP FUNCTION zcdp_ledger.spell(numeric[]);

CREATE FUNCTION zcdp_ledger.stamp() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- The name of the period that a time belongs to, by the clocks of a time zone; as in ledger/periods.py.
CREATE FUNCTION zcdp_ledger.period_at(p_at text, p_every text, p_zone text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(p_at::timestamptz AT TIME ZONE p_zone, CASE p_every
        WHEN 'day' THEN 'YYYY-MM-DD' WHEN 'week' THEN 'IYYY-"W"IW' WHEN 'month' THEN 'YYYY-MM'
        WHEN 'quarter' THEN 'YYYY-"Q"Q' WHEN 'year' THEN 'YYYY' END)
$$;

-- Adds one entry to the chain; the caller holds the lock.
CREATE FUNCTION zcdp_ledger.append(
    p_at text, p_kind text, p_account text, p_key text, p_what text, p_amount text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql AS $$
DECLARE
    before zcdp_ledger.ledger;
    made zcdp_ledger.entry;
BEGIN
    SELECT * INTO STRICT before FROM zcdp_ledger.ledger;
    made.seq := before.length + 1;
    made.at := p_at;
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

CREATE FUNCTION zcdp_ledger.begin_ledger(p_format integer, p_id text, p_version text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO zcdp_ledger.ledger (format, length, head) VALUES (p_format, 0, repeat('0', 64));
    PERFORM zcdp_ledger.take(p_format);
    PERFORM zcdp_ledger.append(zcdp_ledger.stamp(), 'ledger', '', '', p_id, '', '', '', p_version);
END $$;

-- The account of this name; the caller holds the lock.
CREATE FUNCTION zcdp_ledger.known(p_account text) RETURNS zcdp_ledger.account LANGUAGE plpgsql AS $$
DECLARE
    mine zcdp_ledger.account;
BEGIN
    SELECT * INTO mine FROM zcdp_ledger.account WHERE name = p_account;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such account' USING ERRCODE = 'ZC003';
    END IF;
    RETURN mine;
END $$;

CREATE FUNCTION zcdp_ledger.open_account(
    p_format integer, p_account text, p_terms text, p_budget text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    terms jsonb := p_terms::jsonb;
    upper zcdp_ledger.account;
    path text[] := ARRAY[p_account];
    wanted numeric;
    chance numeric;
    made zcdp_ledger.entry;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, '', p_terms, p_why, p_who, p_version);
    wanted := zcdp_ledger.in_units(p_budget);
    chance := zcdp_ledger.in_units(coalesce(terms ->> 'approximate', '0'));
    IF terms ? 'every' AND zcdp_ledger.period_at(zcdp_ledger.stamp(), terms ->> 'every', terms ->> 'zone') IS NULL THEN
        RAISE EXCEPTION 'the server does not know such periods' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.take(p_format);
    PERFORM 1 FROM zcdp_ledger.account WHERE name = p_account;
    IF FOUND THEN
        RAISE EXCEPTION 'the account is there' USING ERRCODE = 'ZC002';
    END IF;
    IF terms ? 'under' THEN
        upper := zcdp_ledger.known(terms ->> 'under');
        path := path || upper.levels;
        IF upper.closed <> '' THEN
            RAISE EXCEPTION 'closed' USING ERRCODE = 'ZC007', DETAIL = upper.name;
        END IF;
        IF cardinality(path) > 16 THEN
            RAISE EXCEPTION 'accounts stand under each other at most 16 deep' USING ERRCODE = 'ZC005';
        END IF;
    END IF;
    INSERT INTO zcdp_ledger.account (name, terms, budget, spent, delta, above)
        VALUES (p_account, p_terms, wanted, 0, chance, array_to_string(path[2:], chr(10)));
    RETURN zcdp_ledger.append(zcdp_ledger.stamp(), 'open', p_account, '', p_terms, p_budget, p_why, p_who, p_version);
END $$;

-- Frees what an open reservation takes at all levels; the caller puts the reason on the record.
CREATE FUNCTION zcdp_ledger.free(gone zcdp_ledger.reservation) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM zcdp_ledger.reservation WHERE account = gone.account AND key = gone.key;
    UPDATE zcdp_ledger.account SET reserved = reserved - gone.size, delta_reserved = delta_reserved - gone.delta
        WHERE name = ANY ((SELECT levels FROM zcdp_ledger.account WHERE name = gone.account)::text[]);
END $$;

-- What time does to a ledger, done before each write that depends on it: reservations expire, periods are opened. A
-- period is opened where the clock shows a later one than the last; where it was set back, the last one goes on.
CREATE FUNCTION zcdp_ledger.pass_time(p_at text, p_levels text[], p_version text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone zcdp_ledger.reservation;
    one zcdp_ledger.account;
    label text;
BEGIN
    FOR gone IN SELECT * FROM zcdp_ledger.reservation WHERE until <= p_at ORDER BY until, account, key LOOP
        PERFORM zcdp_ledger.free(gone);
        PERFORM zcdp_ledger.append(p_at, 'expire', gone.account, gone.key, '', '', '', '', p_version);
    END LOOP;
    FOR one IN SELECT * FROM zcdp_ledger.account WHERE name = ANY (p_levels) AND strpos(terms, '"every": "') > 0
        ORDER BY array_position(p_levels, name) LOOP
        label := zcdp_ledger.period_at(p_at, one.terms::jsonb ->> 'every', one.terms::jsonb ->> 'zone');
        IF label COLLATE "C" > one.period THEN
            UPDATE zcdp_ledger.account SET period = label, spent = 0, delta_spent = 0 WHERE name = one.name;
            PERFORM zcdp_ledger.append(p_at, 'period', one.name, '', label, '', '', '', p_version);
        END IF;
    END LOOP;
END $$;

-- Refuses a cost that does not fit, at the first level from the account upwards.
CREATE FUNCTION zcdp_ledger.admit(p_levels text[], p_size numeric, p_delta numeric) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    one zcdp_ledger.account;
BEGIN
    SELECT * INTO one FROM zcdp_ledger.account
        WHERE name = ANY (p_levels) AND (closed <> '' OR spent + reserved + p_size > budget
            OR delta_spent + delta_reserved + p_delta > delta)
        ORDER BY array_position(p_levels, name) LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF one.closed <> '' THEN
        RAISE EXCEPTION 'closed' USING ERRCODE = 'ZC007', DETAIL = one.name;
    ELSIF one.spent + one.reserved + p_size > one.budget THEN
        RAISE EXCEPTION 'the cost exceeds what remains' USING ERRCODE = 'ZC001',
            DETAIL = 'cost ' || p_size || ' ' || (one.budget - one.spent - one.reserved) || ' ' || one.name;
    END IF;
    RAISE EXCEPTION 'the delta exceeds what remains' USING ERRCODE = 'ZC001',
        DETAIL = 'delta ' || p_delta || ' ' || (one.delta - one.delta_spent - one.delta_reserved) || ' ' || one.name;
END $$;

-- A cost as a program sends it: an amount, or two with a space between them; as units of both.
CREATE FUNCTION zcdp_ledger.cost(given text) RETURNS numeric[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    found numeric[] := ARRAY[zcdp_ledger.in_units(split_part(given, ' ', 1)), 0];
BEGIN
    IF strpos(given, ' ') > 0 THEN
        found[2] := zcdp_ledger.in_units(substr(given, strpos(given, ' ') + 1));
        IF found[2] = 0 THEN
            RAISE EXCEPTION 'not an amount' USING ERRCODE = 'ZC005';
        END IF;
    END IF;
    IF found[1] IS NULL OR found[1] <= 0 THEN
        RAISE EXCEPTION 'a spend has a cost' USING ERRCODE = 'ZC005';
    END IF;
    RETURN found;
END $$;

-- The debit: check and charge all levels under one lock. The same key again is the same debit; for something else, a
-- conflict. What is reserved under the key is freed first; with p_reserved there must be such a reservation.
CREATE FUNCTION zcdp_ledger.spend(
    p_format integer, p_account text, p_key text, p_what text, p_cost text, p_why text, p_who text, p_version text,
    p_reserved boolean, OUT repeated boolean, OUT made zcdp_ledger.entry
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine zcdp_ledger.account;
    kept zcdp_ledger.reservation;
    asked text;
    cost numeric[];
    now_at text;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, p_what, p_why, p_who, p_version);
    cost := zcdp_ledger.cost(p_cost);
    IF p_key = '' THEN
        RAISE EXCEPTION 'a spend has a key' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.take(p_format);
    mine := zcdp_ledger.known(p_account);
    SELECT * INTO made FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'spend' AND key <> '';
    IF FOUND THEN
        IF made.what <> p_what THEN
            RAISE EXCEPTION 'the key was used for something else' USING ERRCODE = 'ZC002';
        END IF;
        repeated := true;
        RETURN;
    END IF;
    now_at := zcdp_ledger.stamp();
    PERFORM zcdp_ledger.pass_time(now_at, mine.levels, p_version);
    SELECT * INTO kept FROM zcdp_ledger.reservation WHERE account = p_account AND key = p_key;
    IF FOUND THEN
        SELECT substr(what, strpos(what, ' ') + 1) INTO asked FROM zcdp_ledger.entry
            WHERE account = p_account AND key = p_key AND kind = 'reserve' AND key <> '';
        IF asked <> p_what THEN
            RAISE EXCEPTION 'the key was used for something else' USING ERRCODE = 'ZC002';
        END IF;
        PERFORM zcdp_ledger.free(kept);
    ELSIF p_reserved THEN
        RAISE EXCEPTION 'nothing is reserved under this key' USING ERRCODE = 'ZC008';
    END IF;
    PERFORM zcdp_ledger.admit(mine.levels, cost[1], cost[2]);
    made := zcdp_ledger.append(now_at, 'spend', p_account, p_key, p_what, p_cost, p_why, p_who, p_version);
    UPDATE zcdp_ledger.account SET spent = spent + cost[1], delta_spent = delta_spent + cost[2]
        WHERE name = ANY (mine.levels);
    repeated := false;
END $$;

-- Takes a cost out of what others can have, at all levels, until a time.
CREATE FUNCTION zcdp_ledger.reserve(
    p_format integer, p_account text, p_key text, p_what text, p_cost text, p_until text, p_why text, p_who text,
    p_version text, OUT repeated boolean, OUT made zcdp_ledger.entry
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine zcdp_ledger.account;
    cost numeric[];
    now_at text;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, p_what, p_why, p_who, p_version);
    cost := zcdp_ledger.cost(p_cost);
    IF p_key = '' OR p_until !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z$' THEN
        RAISE EXCEPTION 'a reservation has a key and a time' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.take(p_format);
    mine := zcdp_ledger.known(p_account);
    now_at := zcdp_ledger.stamp();
    PERFORM zcdp_ledger.pass_time(now_at, mine.levels, p_version);
    SELECT * INTO made FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'reserve' AND key <> '';
    IF FOUND THEN
        IF substr(made.what, strpos(made.what, ' ') + 1) <> p_what THEN
            RAISE EXCEPTION 'the key was used for something else' USING ERRCODE = 'ZC002';
        END IF;
        PERFORM 1 FROM zcdp_ledger.reservation WHERE account = p_account AND key = p_key;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the reservation has ended' USING ERRCODE = 'ZC010';
        END IF;
        repeated := true;
        RETURN;
    END IF;
    PERFORM 1 FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'spend' AND key <> '';
    IF FOUND THEN
        RAISE EXCEPTION 'the key was spent' USING ERRCODE = 'ZC010';
    END IF;
    IF p_until <= now_at THEN
        RAISE EXCEPTION 'the time until which to reserve is over' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.admit(mine.levels, cost[1], cost[2]);
    made := zcdp_ledger.append(
        now_at, 'reserve', p_account, p_key, p_until || ' ' || p_what, p_cost, p_why, p_who, p_version);
    INSERT INTO zcdp_ledger.reservation VALUES (p_account, p_key, cost[1], cost[2], p_until);
    UPDATE zcdp_ledger.account SET reserved = reserved + cost[1], delta_reserved = delta_reserved + cost[2]
        WHERE name = ANY (mine.levels);
    repeated := false;
END $$;

-- Ends a reservation before anything was spent under its key.
CREATE FUNCTION zcdp_ledger.give_back(
    p_format integer, p_account text, p_key text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine zcdp_ledger.account;
    kept zcdp_ledger.reservation;
    made zcdp_ledger.entry;
    now_at text;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, '', p_why, p_who, p_version);
    PERFORM zcdp_ledger.take(p_format);
    mine := zcdp_ledger.known(p_account);
    now_at := zcdp_ledger.stamp();
    PERFORM zcdp_ledger.pass_time(now_at, '{}', p_version);
    SELECT * INTO kept FROM zcdp_ledger.reservation WHERE account = p_account AND key = p_key;
    IF FOUND THEN
        PERFORM zcdp_ledger.free(kept);
        RETURN zcdp_ledger.append(now_at, 'release', p_account, p_key, '', '', p_why, p_who, p_version);
    END IF;
    SELECT * INTO made FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key
        AND kind IN ('spend', 'release', 'expire') AND key <> '' ORDER BY kind = 'spend' DESC LIMIT 1;
    IF made.kind = 'spend' THEN
        RAISE EXCEPTION 'what was reserved under this key is spent: there is no refund' USING ERRCODE = 'ZC011';
    ELSIF made.kind IS NULL THEN
        RAISE EXCEPTION 'nothing is reserved under this key' USING ERRCODE = 'ZC008';
    END IF;
    RETURN made;
END $$;

CREATE FUNCTION zcdp_ledger.change_budget(
    p_format integer, p_kind text, p_account text, p_terms text, p_budget text, p_why text, p_who text, p_version text
) RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine zcdp_ledger.account;
    wanted numeric;
    now_at text;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, '', p_terms, p_why, p_who, p_version);
    wanted := zcdp_ledger.in_units(p_budget);
    PERFORM zcdp_ledger.take(p_format);
    now_at := zcdp_ledger.stamp();
    PERFORM zcdp_ledger.pass_time(now_at, '{}', p_version);
    mine := zcdp_ledger.known(p_account);
    IF mine.closed <> '' THEN
        RAISE EXCEPTION 'closed' USING ERRCODE = 'ZC007', DETAIL = mine.name;
    END IF;
    IF p_kind = 'raise' AND (wanted <= mine.budget OR p_why = '') THEN
        RAISE EXCEPTION 'a budget is raised, with a reason' USING ERRCODE = 'ZC004';
    ELSIF p_kind = 'lower' AND (wanted >= mine.budget OR wanted < mine.spent + mine.reserved OR p_why = '') THEN
        RAISE EXCEPTION 'a budget is lowered to no less than what is taken, with a reason' USING ERRCODE = 'ZC004';
    ELSIF p_kind NOT IN ('raise', 'lower') THEN
        RAISE EXCEPTION 'a budget is raised or lowered' USING ERRCODE = 'ZC004';
    END IF;
    UPDATE zcdp_ledger.account SET budget = wanted, terms = p_terms WHERE name = p_account;
    RETURN zcdp_ledger.append(now_at, p_kind, p_account, '', p_terms, p_budget, p_why, p_who, p_version);
END $$;

CREATE FUNCTION zcdp_ledger.close_account(p_format integer, p_account text, p_why text, p_who text, p_version text)
RETURNS zcdp_ledger.entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine zcdp_ledger.account;
    made zcdp_ledger.entry;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, '', '', p_why, p_who, p_version);
    PERFORM zcdp_ledger.take(p_format);
    mine := zcdp_ledger.known(p_account);
    IF mine.closed <> '' THEN
        SELECT * INTO made FROM zcdp_ledger.entry WHERE account = p_account AND kind = 'close';
        RETURN made;
    END IF;
    IF p_why = '' THEN
        RAISE EXCEPTION 'an account is closed with a reason' USING ERRCODE = 'ZC005';
    END IF;
    UPDATE zcdp_ledger.account SET closed = 'closed' WHERE name = p_account;
    RETURN zcdp_ledger.append(zcdp_ledger.stamp(), 'close', p_account, '', '', '', p_why, p_who, p_version);
END $$;

-- The first seal wins; what comes back is what is sealed, whoever sealed it. Only what was spent for is sealed.
CREATE FUNCTION zcdp_ledger.seal(
    p_format integer, p_account text, p_key text, p_bytes bytea, p_who text, p_version text
) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    there bytea;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, '', '', p_who, p_version);
    IF p_bytes IS NULL OR octet_length(p_bytes) > 67108864 THEN
        RAISE EXCEPTION 'no bytes, or too many' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.take(p_format);
    SELECT bytes INTO there FROM zcdp_ledger.sealed WHERE account = p_account AND key = p_key;
    IF FOUND THEN
        RETURN there;
    END IF;
    PERFORM 1 FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'spend' AND key <> '';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing was spent under this key' USING ERRCODE = 'ZC004';
    END IF;
    INSERT INTO zcdp_ledger.sealed VALUES (p_account, p_key, p_bytes);
    PERFORM zcdp_ledger.append(zcdp_ledger.stamp(), 'seal', p_account, p_key,
        'sha256:' || encode(sha256(p_bytes), 'hex'), '', '', p_who, p_version);
    RETURN p_bytes;
END $$;

-- Hands out the sealed bytes, and puts the first time on the record.
CREATE FUNCTION zcdp_ledger.deliver(
    p_format integer, p_account text, p_key text, p_who text, p_version text
) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    there bytea;
BEGIN
    PERFORM zcdp_ledger.accept(p_account, p_key, '', '', p_who, p_version);
    PERFORM zcdp_ledger.take(p_format);
    SELECT bytes INTO there FROM zcdp_ledger.sealed WHERE account = p_account AND key = p_key;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing is sealed under this key' USING ERRCODE = 'ZC004';
    END IF;
    PERFORM 1 FROM zcdp_ledger.entry WHERE account = p_account AND key = p_key AND kind = 'deliver' AND key <> '';
    IF NOT FOUND THEN
        PERFORM zcdp_ledger.append(zcdp_ledger.stamp(), 'deliver', p_account, p_key, '', '', '', p_who, p_version);
    END IF;
    RETURN there;
END $$;

-- Names that may be erased; entries have their commitments. Not part of the chain.
CREATE TABLE zcdp_ledger.person (
    commitment text COLLATE "C" PRIMARY KEY,
    salt text NOT NULL,
    name text NOT NULL
);

CREATE FUNCTION zcdp_ledger.remember(p_format integer, p_commitment text, p_salt text, p_name text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF p_salt IS NULL OR p_name IS NULL OR length(p_salt) > 200 OR length(p_name) > 4000 OR p_commitment IS DISTINCT FROM
        'name:sha256:' || encode(sha256(convert_to(zcdp_ledger.field(p_salt) || zcdp_ledger.field(p_name), 'UTF8')), 'hex')
    THEN
        RAISE EXCEPTION 'not the commitment of a name' USING ERRCODE = 'ZC005';
    END IF;
    PERFORM zcdp_ledger.take(p_format);
    INSERT INTO zcdp_ledger.person VALUES (p_commitment, p_salt, p_name) ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION zcdp_ledger.forget(p_format integer, p_name text, p_why text, p_who text, p_version text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
BEGIN
    PERFORM zcdp_ledger.accept('-', '', '', p_why, p_who, p_version);
    PERFORM zcdp_ledger.take(p_format);
    DELETE FROM zcdp_ledger.person WHERE name = p_name;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 0 THEN
        PERFORM zcdp_ledger.append(zcdp_ledger.stamp(), 'forget', '', '', gone::text, '', p_why, p_who, p_version);
    END IF;
    RETURN gone;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA zcdp_ledger FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA zcdp_ledger FROM PUBLIC;

-- Where roles.sql was run before, programs go on with what replaces the functions that they had.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'zcdp_spender')
        AND has_schema_privilege('zcdp_spender', 'zcdp_ledger', 'USAGE') THEN
        GRANT SELECT ON zcdp_ledger.reservation, zcdp_ledger.person TO zcdp_reader, zcdp_spender;
        GRANT EXECUTE ON FUNCTION
            zcdp_ledger.spend(integer, text, text, text, text, text, text, text, boolean),
            zcdp_ledger.reserve(integer, text, text, text, text, text, text, text, text),
            zcdp_ledger.give_back(integer, text, text, text, text, text),
            zcdp_ledger.remember(integer, text, text, text),
            zcdp_ledger.seal(integer, text, text, bytea, text, text),
            zcdp_ledger.deliver(integer, text, text, text, text)
            TO zcdp_spender;
    END IF;
END $$;
