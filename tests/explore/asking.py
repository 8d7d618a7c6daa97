"""A page without a browser: a server whose questions are answered in this process, and requests to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from zcdp.errors import ZcdpError
from zcdp.explore import server as server_module
from zcdp.explore.questions import QUESTIONS
from zcdp.explore.server import Explorer


class HereDesk:
    """Answers where it is asked: for what does not depend on processes."""

    def __init__(self, **_: Any) -> None: ...

    def ready(self) -> None: ...

    def close(self) -> None: ...

    def ask(self, question: str, **given: Any) -> Iterator[dict[str, Any]]:
        given = json.loads(json.dumps(given))  # as it comes through a pipe
        try:
            for event in QUESTIONS[question](lambda *_: None, **given):
                yield json.loads(json.dumps(event))
        except ZcdpError as error:
            yield {"error": str(error)}


@contextmanager
def page(path: Path | None, monkeypatch: pytest.MonkeyPatch | None = None, **options: Any) -> Iterator[Page]:
    """A running server; with `monkeypatch` its questions are answered in this process."""
    if monkeypatch is not None:
        monkeypatch.setattr(server_module, "Desk", HereDesk)
    explorer = Explorer(path, **options)
    thread = threading.Thread(target=explorer.serve, daemon=True)
    thread.start()
    try:
        yield Page(explorer)
    finally:
        explorer.server.shutdown()
        thread.join(10)


class Page:
    """Requests as the page makes them."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.host = f"127.0.0.1:{explorer.port}"
        self.origin = f"http://{self.host}"

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request; a header given as None is left out, and _ stands for - in names."""
        connection = http.client.HTTPConnection("127.0.0.1", self.explorer.port, timeout=600)
        sent: dict[str, str | None] = {"Host": self.host}
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": "application/json", "Content-Length": str(len(body or b""))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def get(self, path: str, **headers: str | None) -> tuple[int, dict[str, str], bytes]:
        return self.request("GET", f"/{self.explorer.token}/{path}", **headers)

    def post(self, path: str, given: object, **headers: str | None) -> tuple[int, dict[str, str], bytes]:
        return self.request("POST", f"/{self.explorer.token}/{path}", json.dumps(given).encode(), **headers)

    def ask(self, what: str, **given: Any) -> list[dict[str, Any]]:
        status, _, body = self.post(f"ask/{what}", {"window": "me", "revision": 0, **given})
        assert status == 200, body
        return [event for line in body.splitlines() if "progress" not in (event := json.loads(line))]

    def edit(self, what: str, row: int | None, value: str, **more: Any) -> dict[str, Any]:
        [event] = self.ask("edit", edits=[{"what": what, "row": row, "value": value, "field": "f"}], **more)
        return event
