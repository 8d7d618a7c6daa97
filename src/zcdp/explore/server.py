"""The server of the page: on the loopback address alone, for whoever has the address with its token.

It is the standard library's: one person on one machine asks some dozen questions a second, an answer is a stream of
lines that a thread waits for, and the work is done in other processes. There is nothing to install or to keep patched.

What it refuses: a Host that is not its own (a name of another that was pointed at this machine), a request without the
token, a POST whose Origin is another page or that is not JSON, and every path but those below. It reads the plan and
the ledger that it was started with and its own pages, and writes nothing but the plan, when it is told to save.
"""

from __future__ import annotations

import json
import secrets
import shlex
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import Any, ClassVar

from zcdp.errors import ZcdpError
from zcdp.explore.desk import Desk, Event, Superseded
from zcdp.explore.draft import Conflict, Draft
from zcdp.explore.frame import frame, listed_commands, plan_area, tidy
from zcdp.text.names import printable

__all__ = ["Explorer", "Refused"]

LOOPBACK = "127.0.0.1"
LARGEST_BODY = 1_000_000
"""Bytes of a question: it holds what was typed, never the plan."""
MOST_EDITS, LONGEST_VALUE = 1_000, 2_000
LONGEST_LENGTH = 12
"""Digits of a length that are read as a number."""
MOST_STRANGERS = 32
"""Connections that have not shown the token: of more, the oldest is closed, so that none can keep all places."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


class Refused(Exception):
    """A request that is not answered: a status and a sentence."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


class Explorer:
    """The page of one plan: its draft, its processes, and the server that speaks for them."""

    def __init__(
        self, plan: Path | None = None, *, ledger: str | None = None, account: str | None = None, port: int = 0
    ) -> None:
        self.token, self._ticket = secrets.token_urlsafe(24), ""
        self.ledger, self.account = ledger, account
        resolved = None if plan is None else plan.resolve()
        self.draft = Draft(resolved, Path.cwd())
        self._lock = threading.Lock()
        self._writer = ""
        handler = type("Handler", (_Handler,), {"explorer": self})
        self.server = _Server((LOOPBACK, port), handler)  # first: without a port no process is started
        self.quick, self.sharp = Desk(early=True), Desk(early=True, spare=True)
        self.compared, self.asked = Desk(), Desk()  # Plan may be open in one window and another area in a second
        self.port = int(self.server.server_address[1])
        self.hosts = {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """The address to open, with its token."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/plan"

    def ticket(self) -> str:
        """An address that opens the page once: a browser's command line can be read by all users of a machine."""
        self._ticket = secrets.token_urlsafe(24)
        return f"http://{LOOPBACK}:{self.port}/{self._ticket}"

    def redeem(self, token: str) -> bool:
        """Whether this is the ticket, which is then used up."""
        with self._lock:
            good = bool(self._ticket) and _same(token, self._ticket)
            if good:
                self._ticket = ""
        return good

    @property
    def source(self) -> str:
        """The plan's path as messages and lookups of its own tables need it."""
        return self.draft.name if self.draft.path is None else str(self.draft.path)

    def serve(self) -> None:
        """Answer until `close`, or Ctrl-C."""
        try:
            self.server.serve_forever(poll_interval=0.1)
        finally:
            self.close()

    def close(self) -> None:
        """End the server and all of its processes."""
        for desk in (self.quick, self.sharp, self.compared, self.asked):
            desk.close()
        self.server.server_close()

    # Pages.

    def page(self, area: str) -> str:
        """The page of an area."""
        from zcdp.explore import budget_view, train_view, understand_view

        areas = ["plan", "understand", "train", *(["budget"] if self.ledger else [])]
        bodies = {
            "plan": lambda: plan_area(self._commands(), file=self.draft.name, named=self.draft.path is not None),
            "understand": lambda: understand_view.area(self._delta(), planned=self.draft.path is not None),
            "train": train_view.area,
            "budget": budget_view.area,
        }
        if area not in areas:
            raise Refused(404, "there is no such page")
        if area != "plan":
            self.asked.ready()
        return frame(area, bodies[area](), title=f"{area.capitalize()} \u00b7 zcdp explore", areas=areas)

    def _delta(self) -> str | None:
        """The delta of the plan, or of its budget, as it is written; None if there is none."""
        try:
            read = tomllib.loads(self.draft.text)
        except tomllib.TOMLDecodeError:
            return None
        found = read.get("delta", read.get("budget", {}).get("delta"))
        return None if found is None else tidy(str(found))

    def _commands(self) -> list[tuple[str, str]]:
        name = shlex.quote(self._from_here())
        where = shlex.quote(self.ledger) if self.ledger else "budget.db"
        who = shlex.quote(self.account) if self.account else "ACCOUNT"
        found = [
            ("What it costs, as a report", f"zcdp account {name} --html report.html"),
            ("Whether it fits a ledger", f"zcdp account {name} --ledger {where}"),
            ("Spend it from a ledger", f"zcdp ledger spend {where} {who} {name} --key KEY"),
        ]
        if "[data]" in self.draft.text:
            whose = f" --account {who}" if self.account else ""
            told = f"zcdp release {name} DATA --out tables --ledger {where}{whose} --key KEY"
            found.append(("Release its tables", told))
        return found

    def _from_here(self) -> str:
        """The path of the plan for whoever stands where the page was started; a file that there is not is its name."""
        path = self.draft.path
        if path is None:
            return self.draft.name
        return str(path.relative_to(self.draft.folder) if path.is_relative_to(self.draft.folder) else path)

    # Questions about the plan.

    def state(self) -> Event:
        """What the page shows of the draft itself."""
        undo, redo = self.draft.steps
        named = self.draft.path is not None
        return {
            "revision": self.draft.revision,
            "undo": undo,
            "redo": redo,
            "changed": self.draft.changed,
            "file": self.draft.name,
            "named": named,
        }

    def answer(self, what: str, given: dict[str, Any]) -> Iterator[Event]:
        """The events that answer one question of the page."""
        answers = {
            "show": self._show,
            "edit": self._edit,
            "allocate": self._allocate,
            "sharpen": self._sharpen,
            "which": self._which,
            "save": self._save,
            "undo": self._step,
            "redo": self._again,
            "reload": self._reload,
            "understand": self._form,
            "train": self._form,
            **({"budget": self._budget} if self.ledger else {}),
        }
        if what not in answers:
            raise Refused(404, "there is no such question")
        yield from answers[what](what, given)

    @property
    def _plan(self) -> dict[str, str]:
        return {"text": self.draft.text, "source": self.source}

    def _show(self, _: str, __: dict[str, Any]) -> Iterator[Event]:
        yield from self._changed("show", {})

    def _edit(self, _: str, given: dict[str, Any]) -> Iterator[Event]:
        edits = given.get("edits")
        if (
            not isinstance(edits, list)
            or not 0 < len(edits) <= MOST_EDITS
            or not all(isinstance(e, dict) for e in edits)
        ):
            raise Refused(400, "edits is a list of changes")
        self._not_stale(given)
        yield from self._changed("edit", given, edits=edits)

    def _allocate(self, _: str, given: dict[str, Any]) -> Iterator[Event]:
        self._not_stale(given)
        yield from self._changed("allocate", given, objective=str(given.get("objective", "worst")))

    def _sharpen(self, _: str, __: dict[str, Any]) -> Iterator[Event]:
        yield from self.sharp.ask("sharpen", **self._plan)

    def _which(self, _: str, given: dict[str, Any]) -> Iterator[Event]:
        row = given.get("row")
        yield from self.compared.ask("which", **self._plan, row=row if isinstance(row, int) else -1)

    def _step(self, what: str, given: dict[str, Any]) -> Iterator[Event]:
        yield from self._moved(what, given, self.draft.undo)

    def _again(self, what: str, given: dict[str, Any]) -> Iterator[Event]:
        yield from self._moved(what, given, lambda: self.draft.undo(again=True))

    def _reload(self, what: str, given: dict[str, Any]) -> Iterator[Event]:
        yield from self._moved(what, given, self.draft.reload)

    def _moved(self, what: str, given: dict[str, Any], move: Callable[[], None]) -> Iterator[Event]:
        """The page after the draft has taken another of its own texts."""
        self._not_stale(given)
        with self._lock:
            try:
                move()
            except ZcdpError as error:
                yield {"problems": {"save": str(error)}}
                return
            self._writer = str(given.get("window", ""))
        yield from self._show(what, given)

    def _form(self, what: str, given: dict[str, Any]) -> Iterator[Event]:
        kept = {str(name): str(value)[:LONGEST_VALUE] for name, value in given.items()}
        yield from self.asked.ask(what, given=kept, **self._plan)

    def _budget(self, _: str, __: dict[str, Any]) -> Iterator[Event]:
        yield from self.asked.ask(
            "budget",
            ledger=self.ledger,
            account=self.account,
            delta=self._delta() or "1e-6",
            unsaved=self.draft.changed,
            **self._plan,
        )

    def _not_stale(self, given: dict[str, Any]) -> None:
        """Refuse a change of rows that another window has changed since."""
        with self._lock:
            known = given.get("revision") == self.draft.revision or given.get("window") == self._writer
        if not known:
            raise Refused(
                409, "the plan was changed in another window and is now shown as it is: your change was not made"
            )

    def _changed(self, question: str, given: dict[str, Any], **asked: Any) -> Iterator[Event]:
        """The events of a change, whose text becomes the draft's; of a draft that another has changed, nothing."""
        plan = self._plan
        for event in self.quick.ask(question, **plan, **asked):
            text = event.pop("text", None)
            if text is not None:
                with self._lock:
                    if self.draft.text != plan["text"]:
                        raise Superseded
                    if text != plan["text"]:
                        self.draft.change(text, str(given.get("gesture", "")))
                        self._writer = str(given.get("window", ""))
                    event["state"] = self.state()
            yield event

    def _save(self, _: str, given: dict[str, Any]) -> Iterator[Event]:
        self._not_stale(given)
        with self._lock:
            try:
                self.draft.save(str(given.get("name", "")))
                event: Event = {"state": self.state(), "problems": {}, "said": f"saved as {self.draft.name}"}
                event["html"] = {"commands": listed_commands(self._commands())}
            except Conflict as error:
                event = {"problems": {"save": str(error)}, "conflict": True}
            except ZcdpError as error:
                event = {"problems": {"save": str(error)}}
            except OSError as error:
                event = {"problems": {"save": f"could not be written: {error.strerror}"}}
        yield event


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *given: Any) -> None:
        self._strangers: dict[socket, None] = {}
        self._guard = threading.Lock()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own; if too many only wait, the one that has waited longest goes."""
        with self._guard:
            self._strangers[request] = None
            if len(self._strangers) > MOST_STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                with suppress(OSError):
                    oldest.shutdown(SHUT_RDWR)
        super().process_request(request, client_address)

    def knows(self, request: socket) -> None:
        """A connection that has shown the token is no stranger's any more."""
        with self._guard:
            self._strangers.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        """The end of a connection."""
        self.knows(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no news."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection of the browser."""

    explorer: ClassVar[Explorer]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "zcdp", ""
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, *_: Any) -> None:
        """The terminal stays quiet: the token would stand in every line."""

    def do_GET(self) -> None:
        try:
            self._get(self._inside())
        except Refused as refused:
            self._refuse(refused)

    def do_POST(self) -> None:
        try:
            what = self._inside()
            given = self._body()
            if not what.startswith("ask/"):
                raise Refused(404, "there is no such page")
            self._stream(what.removeprefix("ask/"), given)
        except Refused as refused:
            self._refuse(refused)

    def _inside(self) -> str:
        """The path behind the token, if Host and token are right."""
        if self.headers.get("Host", "") not in self.explorer.hosts:
            raise Refused(403, "this is not the name of this server")
        origin = self.headers.get("Origin")
        own = {f"http://{host}" for host in self.explorer.hosts}
        if origin is not None and origin not in own:
            raise Refused(403, "a page of another origin may not ask here")
        if self.command == "POST" and origin is None:
            raise Refused(403, "a question comes from the page itself")
        _, token, *rest = [*self.path.split("?", 1)[0].split("/", 2), ""]
        if not _same(token, self.explorer.token):
            if self.command == "GET" and self.explorer.redeem(token):
                return ""  # which leads on to the address with the token
            raise Refused(403, "open the address that zcdp explore printed: it has a token that is missing here")
        self.explorer.server.knows(self.connection)
        return rest[0] if rest else ""

    def _get(self, path: str) -> None:
        if path == "":
            self.send_response(302)
            self.send_header("Location", f"/{self.explorer.token}/plan")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path in STATIC:
            self._send(STATIC[path](), KINDS[path[path.rindex(".") :]])
        elif path.startswith("theorem/"):
            from zcdp.explore.theorem_view import theorem_page

            page = theorem_page(path.removeprefix("theorem/"))
            if page is None:
                raise Refused(404, "there is no such theorem")
            self._send(page, "text/html; charset=utf-8")
        else:
            self._send(self.explorer.page(path), "text/html; charset=utf-8")

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "a question is JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > LONGEST_LENGTH or self.headers.get("Transfer-Encoding"):
            raise Refused(411, "a question says how long it is")
        if int(length) > LARGEST_BODY:
            self.close_connection = True
            raise Refused(413, "a question is short")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "a question is JSON") from None
        if not isinstance(given, dict):
            raise Refused(400, "a question is a JSON object")
        return given

    def _stream(self, what: str, given: dict[str, Any]) -> None:
        """Answer with one line of JSON for each event, as it comes."""
        events = self.explorer.answer(what, given)
        try:
            first = next(events, {})  # what is refused is refused before there is a head
        except Superseded:
            first = {"superseded": True}
        self._head(200, "application/x-ndjson; charset=utf-8", None)
        try:
            self._line(first)
            for event in events:
                self._line(event)
        except Superseded:
            self._line({"superseded": True})
        finally:
            events.close()  # type: ignore[attr-defined]
        self.wfile.write(b"0\r\n\r\n")

    def _line(self, event: Event) -> None:
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _send(self, text: str, kind: str) -> None:
        data = text.encode()
        self._head(200, kind, len(data))
        self.wfile.write(data)

    def _refuse(self, refused: Refused) -> None:
        data = f"{printable(refused.words)}\n".encode()
        self.close_connection = True
        self._head(refused.status, "text/plain; charset=utf-8", len(data))
        self.wfile.write(data)

    def _head(self, status: int, kind: str, length: int | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in (
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _same(given: str, secret: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _style() -> str:
    return "".join(
        files(room).joinpath(name).read_text(encoding="utf-8")
        for room, name in (
            ("zcdp.report", "style.css"),
            ("zcdp.report", "ledger.css"),
            ("zcdp.explore", "explore.css"),
        )
    )


def _script() -> str:
    return files("zcdp.explore").joinpath("explore.js").read_text(encoding="utf-8")


STATIC = {"static/explore.css": _style, "static/explore.js": _script}
"""The only files that are served, by their whole path: none is looked up by a name of the request."""
