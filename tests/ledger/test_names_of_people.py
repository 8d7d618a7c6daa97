"""Names of people that can be erased: entries have salted commitments, and the chain stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from zcdp import Laplace
from zcdp.cli import main
from zcdp.ledger import Ledger
from zcdp.ledger.chain import name_commitment
from zcdp.ledger.ledger_statement import statement

TENTH = Laplace(epsilon="0.1")


@pytest.fixture
def private(address: str) -> Iterator[Ledger]:
    with Ledger(address, private_names=True) as made:
        made.open_account("census", unit="person", rho=1, who="Board")
        made.release("census", TENTH, lambda: b"noisy", key="a", who="Anna Example")
        made.spend("census", TENTH, key="b", who="Anna Example")
        made.spend("census", TENTH, key="c", who="Ben")
        yield made


def people(ledger: Ledger) -> set[str]:
    return {row["who"] for row in statement(ledger)["accounts"][0]["people"]}


def test_the_record_has_commitments_and_the_report_names(private: Ledger) -> None:
    given = [entry.who for entry in private.history("census")]
    assert all(who.startswith("name:sha256:") for who in given)
    assert len(set(given)) == len(given)  # a salt each: entries of one person cannot be told to be so
    names = private.names()
    assert [names[who] for who in given] == ["Board", *["Anna Example"] * 4, "Ben"]
    assert people(private) == {"Anna Example", "Ben"}
    assert private.verify()


def test_a_name_is_erased_and_the_chain_stays_whole(private: Ledger, address: str, tmp_path: Path) -> None:
    head = private.head
    assert private.forget("Anna Example", why="asked for it") == 4
    assert private.forget("Anna Example", why="asked again") == 0
    assert private.forget("Nobody", why="a mistake") == 0
    assert "Anna Example" not in private.names().values()
    left = {entry.who for entry in private.history("census") if entry.kind == "spend" and entry.key in ("a", "b")}
    assert people(private) == {*left, "Ben"}
    last = list(private.history())[-1]
    assert (last.kind, last.what, last.why, last.account) == ("forget", "4", "asked for it", "")
    assert private.verify(expect_head=head).findings == ()
    assert private.spend("census", TENTH, key="b", who="somebody").repeated
    if not address.startswith("postgresql"):
        for file in tmp_path.glob("budget.db*"):
            assert b"Anna Example" not in file.read_bytes(), file.name


def test_a_name_is_erased_however_its_letters_are_composed(private: Ledger) -> None:
    private.spend("census", TENTH, key="d", who="Jose\u0301")
    assert private.forget("Jos\u00e9", why="asked for it") == 1


def test_a_name_that_was_exchanged_is_found(private: Ledger, address: str) -> None:
    if address.startswith("postgresql"):
        import psycopg

        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE zcdp_ledger.person SET name = 'Carla' WHERE name = 'Ben'")
            with pytest.raises(psycopg.Error, match="not the commitment of a name"):
                connection.execute("SELECT zcdp_ledger.remember(2, 'name:sha256:00', '00', 'Ben')")
    else:
        connection = private._store._opened.connection  # type: ignore[attr-defined]
        connection.execute("UPDATE person SET name = 'Carla' WHERE name = 'Ben'")
    [found] = private.verify().findings
    assert "a name beside the record is not the one that" in found


def test_a_commitment_depends_on_salt_and_name_and_on_where_one_ends() -> None:
    made = {name_commitment(*one) for one in (("a", "bc"), ("ab", "c"), ("", "abc"), ("a", "b"), ("abc", ""))}
    assert len(made) == 5


def test_without_it_names_stay_as_they_are(ledger: Ledger) -> None:
    ledger.spend("census", TENTH, key="a", who="a job")
    assert list(ledger.history("census"))[-1].who == "a job"
    assert ledger.names() == {}
    with pytest.raises(ValueError, match="why must say why"):
        ledger.forget("a job", why="")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "b.db")
    main(["ledger", "open", where, "census", "--unit", "person", "--rho", "1"])
    main(["ledger", "spend", where, "census", "--rho", "0.1", "--key", "a", "--who", "Anna", "--private-who"])
    capsys.readouterr()
    main(["ledger", "history", where])
    assert "(Anna)" in capsys.readouterr().out
    assert main(["ledger", "forget", where, "Anna", "--why", "asked"]) == 0
    assert "Erased under 1 commitments" in capsys.readouterr().out
    main(["ledger", "history", where])
    assert "Anna" not in capsys.readouterr().out
    assert main(["ledger", "verify", where]) == 0
