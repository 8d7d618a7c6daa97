-- Who may do what on PostgreSQL. Run once by the owner of the ledger (who opens accounts and changes budgets), after the
-- first account was opened; then GRANT zcdp_spender TO a_program, GRANT zcdp_reader TO a_person.
--   zcdp_reader   reads accounts, history and sealed results, and can verify; changes nothing.
--   zcdp_spender  reserves, spends, seals and delivers through the functions, and nothing else: it cannot edit or remove
--                 an entry, open or close an account, change a budget, or choose the time and the login on the record.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'zcdp_reader') THEN
        CREATE ROLE zcdp_reader NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'zcdp_spender') THEN
        CREATE ROLE zcdp_spender NOLOGIN;
    END IF;
END $$;
GRANT USAGE ON SCHEMA zcdp_ledger TO zcdp_reader, zcdp_spender;
GRANT SELECT ON zcdp_ledger.ledger, zcdp_ledger.account, zcdp_ledger.entry, zcdp_ledger.sealed,
    zcdp_ledger.reservation, zcdp_ledger.person
    TO zcdp_reader, zcdp_spender;
GRANT EXECUTE ON FUNCTION
    zcdp_ledger.spend(integer, text, text, text, text, text, text, text, boolean),
    zcdp_ledger.reserve(integer, text, text, text, text, text, text, text, text),
    zcdp_ledger.give_back(integer, text, text, text, text, text),
    zcdp_ledger.remember(integer, text, text, text),
    zcdp_ledger.seal(integer, text, text, bytea, text, text),
    zcdp_ledger.deliver(integer, text, text, text, text)
    TO zcdp_spender;
