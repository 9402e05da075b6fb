"""A page that follows a session: a server on this machine, for whoever has its address.

The server runs in threads of its own and reads a recording; it never calls the session.  The page asks for news
several times a second and gets everything again when a step was made: what is recorded is bounded.

Rule: a request is answered only if it names this server exactly (Host), brings the token, and comes from the page
itself or from the address bar; it reads and never writes.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
import webbrowser
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ebbflow.errors import PlanError
from ebbflow.tools.explorer.page import Look, html, state
from ebbflow.tools.explorer.recording import Recording

HERE = "127.0.0.1"
PAUSE = 400  # milliseconds between two questions of the page
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",  # beside the page's own, which names its script
}


class LivePage:
    """The address of a page that follows a session; `close` ends the server."""

    def __init__(self, recording: Recording, look: Look):
        self.recording, self.look = recording, look
        self.token = secrets.token_urlsafe(24)
        self.server = Server((HERE, 0), Answer, self)
        self.host = f"{HERE}:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, name="ebbflow-explorer", daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://{self.host}/?token={self.token}"

    def page(self) -> str:
        now = self.recording.copy()
        return html(now, self.look, {"token": self.token, "version": now.version, "pause": PAUSE, "ended": False})

    def news(self, since: int) -> dict[str, Any] | None:
        """All that is recorded, unless the page knows it already."""
        if since == self.recording.version:
            return None
        now = self.recording.copy()
        return {"version": now.version, "ended": now.has_ended, **state(now, timed=True)}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LivePage({self.url!r})"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.url)}" target="_blank" rel="noopener noreferrer">The session in the explorer</a>'


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answer: type[BaseHTTPRequestHandler], page: LivePage):
        super().__init__(address, answer)
        self.page = page


class Answer(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "ebbflow", ""
    timeout = 10  # seconds for a request to come whole

    def do_GET(self) -> None:
        page, asked = self.server.page, urlsplit(self.path)
        query = parse_qs(asked.query)
        if self.headers.get_all("Host") != [page.host]:
            return self.refuse(421, "This server answers to its own address only.")
        if self.headers.get("Origin", f"http://{page.host}") != f"http://{page.host}":
            return self.refuse(403, "Another site asks.")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return self.refuse(403, "Another site asks.")
        if asked.path == "/":
            if not self.knows(query.get("token", [""])[0]):
                return self.refuse(403, "The token is missing or is another one.")
            return self.send(200, "text/html; charset=utf-8", page.page())
        if asked.path == "/state":
            if not self.knows(self.headers.get("Authorization", "").removeprefix("Bearer ")):
                return self.refuse(403, "The token is missing or is another one.")
            since = query.get("since", [""])[0]
            news = page.news(int(since) if since.lstrip("-").isdecimal() and len(since) < 20 else -1)
            if news is None:
                return self.send(204, "application/json", "")
            return self.send(200, "application/json", json.dumps(news, allow_nan=False))
        return self.refuse(404, "There is nothing here.")

    def knows(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.server.page.token.encode())

    def refuse(self, status: int, what: str) -> None:
        self.send(status, "text/plain; charset=utf-8", what)

    def send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the address holds the token."""


def serve(recording: Recording | None, show: Any = None, title: str | None = None) -> LivePage:
    """A server for the page of a session, which is opened for whoever sits at a terminal."""
    if recording is None:
        raise PlanError(
            "this session is not recorded, so there is nothing to show.",
            hint="Begin it with flow.run(explore=True), and then call explore().",
        )
    look = Look(title, show)
    look.check(recording.graph)
    page = LivePage(recording, look)
    if sys.stdout.isatty():
        webbrowser.open(page.url)
    return page
