"""A page that follows a session: who is answered, what is shown, and what is not recorded."""

import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

import ebbflow as ebb
from ebbflow.errors import PlanError, UnknownOption, UnknownOutput
from ebbflow.tools.explorer import recording
from ebbflow.tools.explorer.recording import Recorder
from tests import browsing


def counting():
    flow = ebb.Dataflow()
    flow.output("degrees", flow.input("edges", "src long, dst long").group_by("src").count())
    return flow


@pytest.fixture(scope="module")
def followed():
    """A session with one step done, and its page, for those who only ask."""
    live = counting().run(explore=True)
    live.insert("edges", [(1, 2), (1, 3)])
    live.advance_to(1)
    with live.explore() as page:
        yield live, page
    live.close()


def asked(page, path, method="GET", host=None, headers=None, token=False):
    """A request as a stranger could write it: (status, headers, body)."""
    where = urlsplit(page.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True)
        for one in [page.host] if host is None else host:
            connection.putheader("Host", one)
        for name, value in {**(headers or {}), **({"Authorization": f"Bearer {page.token}"} if token else {})}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


# ---- who is answered ------------------------------------------------------------------------


def test_the_page_is_given_to_whoever_has_the_address(followed):
    _, page = followed
    status, headers, body = asked(page, f"/?token={page.token}")
    assert status == 200 and "ebbflow explorer: degrees" in body and page.token in body
    assert "connect-src 'self'" in body and "script-src 'sha256-" in body and "unsafe" not in body.split("</head>")[0]
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert not {name.lower() for name in headers} & {"access-control-allow-origin", "set-cookie"}


def test_it_listens_on_this_machine_only(followed):
    _, page = followed
    assert page.server.server_address[0] == "127.0.0.1" and page.url.startswith("http://127.0.0.1:")


HOSTS = [["evil.example"], ["localhost"], ["127.0.0.1"], [], ["127.0.0.1:1"], ["OWN", "evil.example"], ["OWN."], [""]]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: ",".join(host) or "none")
@pytest.mark.parametrize("path", ["/", "/state?since=-1"])
def test_another_host_is_refused(followed, host, path):
    """A name that resolves to this machine is another site to a browser: it must not read the page."""
    _, page = followed
    named = [one.replace("OWN", page.host) for one in host]
    status, _, body = asked(page, path + (f"?token={page.token}" if path == "/" else ""), host=named, token=True)
    assert status == 421 and page.token not in body and "edges" not in body


@pytest.mark.parametrize("token", ["", "?token=", "?token=wrong", "?token=%00", "?token=é"])
def test_without_the_token_nothing_is_shown(followed, token):
    _, page = followed
    path = f"/{token}".replace("é", "%C3%A9")
    status, _, body = asked(page, path)
    assert status == 403 and page.token not in body and "edges" not in body


@pytest.mark.parametrize("said", [None, "Bearer ", "Bearer wrong", "Basic abc", "bearer"])
def test_the_state_asks_for_the_token_too(followed, said):
    _, page = followed
    status, _, body = asked(page, "/state?since=-1", headers={} if said is None else {"Authorization": said})
    assert status == 403 and "edges" not in body
    assert asked(page, f"/state?since=-1&token={page.token}")[0] == 403  # not by address: addresses are kept in logs


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:80"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/state?since=-1"])
def test_another_site_is_refused(followed, headers, path):
    _, page = followed
    where = path + (f"?token={page.token}" if path == "/" else "")
    status, found, body = asked(page, where, headers=headers, token=True)
    assert status == 403 and "edges" not in body and "Access-Control-Allow-Origin" not in found


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_it_only_reads(followed, method):
    _, page = followed
    assert asked(page, "/state?since=-1", method=method, token=True)[0] in (405, 501)


@pytest.mark.parametrize("path", ["/etc/passwd", "/../page.py", "//", "/state/", "/favicon.ico"])
def test_there_is_nothing_else(followed, path):
    _, page = followed
    assert asked(page, path, token=True)[0] in (403, 404)


def test_many_strange_requests_leave_it_alive(followed):
    _, page = followed
    for since in ["", "x", "9" * 400, "-", "1e9", "%00", "²"]:
        path = f"/state?since={since}".encode("ascii", "replace").decode()
        assert asked(page, path, token=True)[0] in (200, 204)
    assert asked(page, f"/?token={page.token}")[0] == 200


# ---- what it tells --------------------------------------------------------------------------


def state(page, since=-1):
    status, _, body = asked(page, f"/state?since={since}", token=True)
    return json.loads(body) if status == 200 else status


def test_it_follows_the_session_step_by_step():
    live = counting().run(explore=True)
    live.insert("edges", [(1, 2), (1, 3)])
    live.advance_to(1)
    page = live.explore()
    first = state(page)
    assert first["inputs"] == {"edges": [[[1, 2], [0], 1], [[1, 3], [0], 1]]} and first["frontiers"] == {"edges": [[1]]}
    assert state(page, first["version"]) == 204  # nothing new
    live.delete("edges", [(1, 2)])
    assert state(page, first["version"]) == 204  # not yet in a step
    live.advance_to(5)
    second = state(page, first["version"])
    assert second["inputs"]["edges"][-1] == [[1, 2], [1], -1] and second["frontiers"] == {"edges": [[5]]}
    assert any(" ms" in event["text"] for event in second["engine"]) and not second["ended"]
    live.close()
    assert state(page, second["version"])["ended"] is True
    page.close()


def test_a_refused_step_is_told_and_leaves_no_change():
    flow = ebb.Dataflow()
    flow.output("sum", flow.input("x", "a long").group_by().agg(s=ebb.sum("a")))
    live = flow.run(explore=True)
    with live.explore() as page:
        live.insert("x", [(2**62,), (2**62 + 1,)])
        with pytest.raises(ebb.EbbflowError):
            live.advance_to(1)
        found = state(page)
        assert found["inputs"] == {"x": []} and [e["kind"] for e in found["engine"]][-1] == "refused"
    live.discard()
    live.close()


def test_what_was_dropped_is_said(monkeypatch):
    monkeypatch.setattr(recording, "EVENTS_KEPT", 3)
    live = counting().run(explore=True)
    with live.explore() as page:
        live.insert("edges", [(i, i) for i in range(10)])
        live.advance_to(1)
        assert state(page)["dropped"] == {"edges": 7} and len(state(page)["inputs"]["edges"]) == 3
    live.close()


def test_nothing_is_recorded_unless_asked_for():
    live = counting().run()
    assert not isinstance(live._runtime, Recorder)
    with pytest.raises(PlanError, match=r"not recorded[^$]*flow.run\(explore=True\)"):
        live.explore()
    live.close()


def test_the_program_finds_its_running_session():
    flow = counting()
    live = flow.run(explore=True)
    with flow.explore(title="mine") as page:
        assert "ebbflow explorer: mine" in asked(page, f"/?token={page.token}")[2]
        assert repr(page) == f"LivePage({page.url!r})" and page.url in page._repr_html_()
    with pytest.raises(UnknownOutput):
        live.explore(show="nothing")
    live.close()
    assert flow.explore().path.exists()  # a page of its own: nothing runs any more


def test_what_cannot_be_recorded_is_refused(tmp_path):
    with pytest.raises(UnknownOption, match="no checkpoint"):
        counting().run(explore=True, checkpoint=str(tmp_path))
    flow = ebb.Dataflow()
    flow.output("out", flow.input("x", "a long").map_rows(lambda row: (row.a,), "a long"))
    with pytest.raises(PlanError, match="no Python to run it"):
        flow.run(explore=True)


def test_a_recorded_session_gives_the_same_results():
    flow = counting()
    answers = []
    for options in ({}, {"explore": True}, {"explore": True, "workers": 2}):
        with flow.run(**options) as live:
            live.insert("edges", [(1, 2), (1, 3), (2, 3)])
            live.advance_to(1)
            live.delete("edges", [(1, 3)])
            live.advance_to(2)
            answers.append(sorted(live.changes("degrees").rows()))
    assert answers[0] == answers[1] == answers[2] and len(answers[0]) == 4


def test_what_is_read_is_of_one_step(monkeypatch):
    """While a step is noted, whoever asks waits: never its frontier without its changes."""
    live = counting().run(explore=True)
    page = live.explore()
    seen = []
    note = Recorder._note

    def asking(self, *args):
        thread = threading.Thread(target=lambda: seen.append(page.news(-1)))
        thread.start()
        thread.join(0.2)
        assert not seen
        note(self, *args)
        seen.append(thread)

    monkeypatch.setattr(Recorder, "_note", asking)
    live.insert("edges", [(1, 2)])
    live.advance_to(1)
    seen[0].join(10)
    assert seen[1]["frontiers"] == {"edges": [[1]]} and len(seen[1]["inputs"]["edges"]) == 1
    page.close()
    live.close()


def test_closing_ends_the_server():
    live = counting().run(explore=True)
    page = live.explore()
    page.close()
    with pytest.raises(OSError):
        asked(page, "/")
    assert page.thread not in threading.enumerate()
    live.close()


# ---- in a browser ---------------------------------------------------------------------------


def test_the_page_shows_each_step_until_the_reader_edits():
    with browsing.running() as browser:
        live = counting().run(explore=True)
        live.insert("edges", [(1, 2)])
        live.advance_to(1)
        with live.explore() as page:
            tab = browsing.opened(browser, page.url)
            assert browsing.shown_cells(tab) == {"0": "+1", "1": ""}
            live.insert("edges", [(1, 3)])
            live.advance_to(2)
            browsing.until(tab, "explorer.data.frontiers.edges[0][0] === 2")
            assert browsing.shown_cells(tab) == {"0": "+1", "1": "+1 −1", "2": ""}
            assert "the step is done" in tab.inner_text("#story-list")
            assert "Following the session." in tab.inner_text("#live")
            tab.click("#given .remove >> nth=1")
            assert browsing.shown_cells(tab) == {"0": "+1", "2": ""}
            assert "no longer follows" in tab.inner_text("#live")
            tab.click("#live >> text=Follow again")
            browsing.until(tab, "explorer.given.edges.length === 2")
            live.close()
            browsing.until(tab, "document.querySelector('#live').innerText.includes('has ended')")
            assert not tab.wrong
