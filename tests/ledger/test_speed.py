"""No timing here: that each look-up goes by an index is what keeps a spend as fast after a million entries."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ledger.server import Server

from zcdp.ledger import Ledger
from zcdp.ledger.postgres import FIND_ENTRY as POSTGRES
from zcdp.ledger.sqlite import FIND_ENTRY as SQLITE


def test_a_key_is_found_by_the_index_on_sqlite(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
    connection = sqlite3.connect(tmp_path / "a.db")
    [(*_, how)] = connection.execute(f"EXPLAIN QUERY PLAN {SQLITE}", ("a", "b", "c"))
    connection.close()
    assert how == "SEARCH entry USING INDEX entry_once (account=? AND key=? AND kind=?)"


def test_a_key_is_found_by_the_index_on_postgres(server: Server) -> None:
    import psycopg

    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=1)
    with psycopg.connect(address) as connection:
        connection.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        query = POSTGRES.replace("%s", "$1", 1).replace("%s", "$2", 1).replace("%s", "$3", 1)
        connection.execute(f"PREPARE one (text, text, text) AS {query}")
        how = "\n".join(row[0] for row in connection.execute("EXPLAIN EXECUTE one ('a', 'b', 'c')"))
    assert "entry_once" in how
    assert "Seq Scan" not in how
