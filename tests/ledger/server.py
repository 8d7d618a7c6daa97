"""A real PostgreSQL server in a temporary folder, run by an unprivileged user from the distribution's package."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

MISSING = "NOT CHECKED: PostgreSQL's server programs are not installed: apt-get install postgresql"
USER = "ledger_owner"


def programs() -> Path | None:
    """Where initdb and postgres lie; distributions keep them off the path."""
    asked = shutil.which("pg_config")
    told = (
        subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=False).stdout.strip() if asked else ""
    )
    near = shutil.which("initdb")
    places = [Path(told or "/nowhere"), *([Path(near).resolve().parent] if near else [])]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def driver() -> bool:
    try:
        import psycopg  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def reason() -> str | None:
    """Why it cannot be tested here; None where it can."""
    if programs() is None:
        return MISSING
    return None if driver() else "NOT CHECKED: psycopg is not installed: pip install 'zcdp[postgres]'"


class Server:
    """Started on demand, stopped at the end; may be killed in between."""

    def __init__(self, folder: Path) -> None:
        found = programs()
        assert found is not None
        self.bin, self.folder, self.process = found, folder, None
        self.data = folder / "data"
        self._login, self._shared = None, None
        if os.getuid() == 0:  # the server refuses to run as root, and rightly
            account = next((name for name in ("postgres", "nobody") if _known(name)), "nobody")
            self._login = pwd.getpwnam(account)
            os.chown(folder, self._login.pw_uid, self._login.pw_gid)
        self._call("initdb", "-D", str(self.data), "-U", USER, "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nmax_connections = 60\n")
            settings.write("shared_buffers = 16MB\nlog_min_messages = fatal\n")
        self.start()

    def _options(self) -> dict[str, object]:
        if self._login is None:
            return {"cwd": self.folder}
        return {"cwd": self.folder, "user": self._login.pw_uid, "group": self._login.pw_gid, "extra_groups": []}

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), *arguments]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}
        subprocess.run(command, check=True, capture_output=True, timeout=120, env=environment, **self._options())

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(self.bin / "postgres"), "-D", str(self.data)],
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"},
                start_new_session=True,
                preexec_fn=_die_with_me,  # noqa: PLW1509 - one line, before anything else runs
                **self._options(),
            )
        self._wait()

    def _wait(self) -> None:
        import psycopg

        for _ in range(600):
            try:
                psycopg.connect(self.address("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer: " + (self.folder / "log").read_text()[-500:])

    def address(self, database: str, user: str = USER) -> str:
        return f"postgresql://{user}@{quote(str(self.folder), safe='')}/{database}"

    def database(self, name: str) -> str:
        """A fresh one."""
        import psycopg

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def fresh(self) -> str:
        """The same database every time, with no ledger in it: to make one takes seconds."""
        import psycopg

        if self._shared is None:
            self._shared = self.database("shared")
        with psycopg.connect(self._shared, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS zcdp_ledger CASCADE")
        return self._shared

    def kill(self) -> None:
        """kill -9 of the whole server: postmaster and all its children, which are its process group or sessions."""
        assert self.process is not None
        children = _children(self.process.pid)
        os.kill(self.process.pid, signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.wait(30)
        for child in children:  # the shared memory must be free before the next start
            for _ in range(400):
                if not Path(f"/proc/{child}").exists() or _zombie(child):
                    break
                time.sleep(0.01)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: nobody will read these files again
            self.process.wait(60)


def _die_with_me() -> None:
    """Where the tests are killed, their server goes too: a word to the kernel of Linux, which others do not know."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def _known(name: str) -> bool:
    try:
        return pwd.getpwnam(name) is not None
    except KeyError:
        return False


def _children(parent: int) -> list[int]:
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True, check=False)
    return [int(one) for one in done.stdout.split()]


def _zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def running(*, on_disk: bool = False) -> Iterator[Server]:
    """A server in memory where there is a folder of it: a killed process does not lose what a crash of the machine may.

    The path is short, as that of a socket has at most 107 bytes.
    """
    memory = "/dev/shm"
    folder = Path(tempfile.mkdtemp(prefix="zpg", dir=None if on_disk or not os.access(memory, os.W_OK) else memory))
    server = None
    try:
        server = Server(folder)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
