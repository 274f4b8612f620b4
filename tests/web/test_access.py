"""Who may read the explorer, and what they may do."""

from __future__ import annotations

import html
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import pytest
from fastapi.testclient import TestClient

import driftword as dw
from conftest import PATIENCE, run_here
from driftword.cli.pages import _listen
from driftword.web.app import make_app

HERE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def reader(small_model: dw.Model) -> TestClient:
    return TestClient(make_app(small_model, small_model.open_corpus()), base_url=HERE)


def test_other_names_for_this_machine_are_refused(reader: TestClient, small_model: dw.Model) -> None:
    """A foreign site could point a name of its own at 127.0.0.1 and read what is there."""
    assert reader.get("/", headers={"host": "evil.example:8123"}).status_code == 421
    for name in ("localhost:8123", "127.0.0.1", "[::1]:8123", "[::1]"):
        assert reader.get("/comparisons", headers={"host": name}).status_code == 200
    anyone = TestClient(make_app(small_model, hosts=None), base_url="http://seminar.example")
    assert anyone.get("/comparisons").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("token", ["日本", "a&b#c", "ä ö", "x" * 500])
def test_a_token_may_have_any_letters_and_leads_nowhere_else(small_model: dw.Model, token: str) -> None:
    reader = TestClient(make_app(small_model, hosts=None, token=token), base_url=HERE)
    first = reader.get(f"{HERE}//evil.example/", params={"token": token}, follow_redirects=False)
    assert first.headers["location"] == "/evil.example/"
    assert reader.get("/comparisons").status_code == 200


def test_a_fault_is_said_in_a_sentence_too(small_model: dw.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = TestClient(make_app(small_model), base_url=HERE)
    monkeypatch.setattr("driftword.pages.content.compare", lambda *_: 1 / 0)
    answer = reader.get("/compare?words=ship,wheat")
    assert answer.status_code == 500
    assert answer.text.startswith("This page cannot be shown because of a fault in driftword.")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_pages_are_read_and_nothing_else(reader: TestClient) -> None:
    assert reader.head("/word/ship").status_code == 200
    assert reader.head("/word/ship").content == b""
    posted = reader.post("/word/ship")
    assert posted.status_code == 405
    assert posted.headers["allow"] == "GET"


@pytest.mark.slow
def test_a_token_opens_the_door_once(small_model: dw.Model) -> None:
    reader = TestClient(make_app(small_model, hosts=None, token="open sesame"), base_url=HERE)
    for address in ("/", "/index.json", "/word/ship", "/openapi.json", "/?token=open"):
        refused = reader.get(address)
        assert refused.status_code == 401
        assert "token" in refused.text
    first = reader.get("/word/ship?n=3&token=open%20sesame", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/word/ship?n=3")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "samesite=lax" in first.headers["set-cookie"].lower()
    assert reader.get("/word/ship").status_code == 200


@pytest.mark.slow
def test_the_command_listens_here_alone_and_says_where(small_model: dw.Model) -> None:
    command = [sys.executable, "-m", "driftword", "explore", str(small_model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split(" at ")[1].split(" ")[0]
        assert address.startswith("http://127.0.0.1:")
        assert re.search(r"/\?token=[\w-]{20,}$", address)
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        page = browser.open(address, timeout=PATIENCE / 1000)  # the port is open, so this waits for the server
        assert "How words changed" in page.read().decode()
        place = address.partition("?")[0]
        with pytest.raises(urllib.error.HTTPError, match="401"):  # another user of this machine
            urllib.request.urlopen(place, timeout=PATIENCE / 1000)
        port = place.rstrip("/").rpartition(":")[2]
        again = subprocess.run([*command[:-1], port], capture_output=True, text=True, check=False)
        assert again.returncode == 2
        assert f"Port {port} of 127.0.0.1 cannot be used" in again.stderr
    finally:
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=PATIENCE / 1000)
    assert complaint == ""  # Ctrl-C is how one ends it
    assert process.returncode == 0


def test_small_pages_are_sent_at_once() -> None:
    """Asyncio turns Nagle's algorithm off, which delays them by 40 ms, where the socket names its protocol."""
    with _listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.slow
def test_without_a_token_every_user_of_the_machine_may_read(small_model: dw.Model) -> None:
    command = [sys.executable, "-m", "driftword", "explore", str(small_model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen([*command, "--no-token"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(" ")[0]
        assert "token" not in address
        assert urllib.request.urlopen(address, timeout=PATIENCE / 1000).status == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE / 1000)
    for wrong in (["--host", "0.0.0.0"], ["--token", "x"]):
        ended = run_here(*command[3:], "--no-token", *wrong)
        assert ended.returncode == 2
        assert "--no-token" in ended.stderr


def test_two_explorers_on_two_ports_do_not_overwrite_each_others_cookie(small_model: dw.Model) -> None:
    """A browser sends the cookies of 127.0.0.1 to all its ports."""
    readers = [TestClient(make_app(small_model, token=token), base_url=HERE) for token in ("one", "two")]
    readers[1].cookies = readers[0].cookies
    for reader, token in zip(readers, ("one", "two"), strict=True):
        assert reader.get("/comparisons", params={"token": token}).status_code == 200
    assert [reader.get("/comparisons").status_code for reader in readers] == [200, 200]


def test_nothing_is_taken_from_the_cache_before_the_token_is_checked(small_model: dw.Model) -> None:
    app = make_app(small_model, token="secret")
    reader, stranger = TestClient(app, base_url=HERE), TestClient(app, base_url=HERE)
    assert reader.get("/comparisons?token=secret").status_code == 200
    assert reader.get("/comparisons").status_code == 200
    assert stranger.get("/comparisons").status_code == 401
    assert stranger.get("/comparisons", headers={"host": "evil.example"}).status_code == 421
    assert stranger.get("/index.json").json()["error"].startswith("This explorer can only be read with its token")
    given = stranger.get("/comparisons?token=secret", follow_redirects=False)
    assert given.headers["cache-control"] == "no-store"
    page = reader.get("/comparisons")
    assert page.headers["cache-control"] == "private, no-cache"
    assert page.headers["cross-origin-opener-policy"] == page.headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in page.headers["permissions-policy"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "address", ["/word/ship/", "//evil.example/", "/compare/?words=a", "/%5Cevil.example/", "/a//"]
)
def test_redirects_lead_to_the_same_server_whatever_the_host(small_model: dw.Model, address: str) -> None:
    reader = TestClient(make_app(small_model, hosts=None), base_url="http://evil.example")
    answer = reader.get(f"http://evil.example{address}", follow_redirects=False, headers={"host": "[evil"})
    assert answer.status_code == 303
    assert re.match(r"/[^/\\]", answer.headers["location"])


@pytest.mark.slow
def test_listening_to_others_warns_and_asks_for_a_token(small_model: dw.Model) -> None:
    command = [sys.executable, "-m", "driftword", "explore", str(small_model.path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--host", "0.0.0.0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=PATIENCE / 1000)
    assert re.search(r"\?token=[\w-]{20,}", line)
    assert "anyone who has the token" in " ".join(complaint.split())
    for wrong in (["--host", "no.such.host.invalid"], ["--host", "a..b"], ["--host", "8.8.8.8"], ["--token", " "]):
        ended = run_here(*command[3:], *wrong)
        assert ended.returncode == 2
        assert len(ended.stderr.strip().splitlines()) == 1


def test_the_code_of_a_figure_opens_figures_on_named_sites_and_nothing_else(small_model: dw.Model) -> None:
    app = make_app(
        small_model, small_model.open_corpus(), token="our seminar", embed_in=["https://Blog.example.org/"]
    )  # fmt: skip
    inside, outside = TestClient(app, base_url=HERE), TestClient(app, base_url=HERE)
    inside.get("/", params={"token": "our seminar"})
    assert 'href="/word/ship/embed/trajectory"' in inside.get("/word/ship").text
    code = html.unescape(re.findall("<textarea.*?</textarea>", inside.get("/word/ship/embed/trajectory").text)[0])
    source = code.split('src="EXPLORER')[1].split('"')[0]
    assert outside.get(source.split("?")[0]).status_code == 401
    shown = outside.get(source)
    assert shown.status_code == 200
    assert "How far ship has moved" in shown.text
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert policy.endswith("frame-ancestors https://blog.example.org")
    assert "script" not in policy
    key = source.split("key=")[1]
    for other in ("/word/ship", "/word/ship.json", "/word/ship/passages.json", "/word/ship/figure/trajectory.svg", "/"):
        assert outside.get(other, params={"key": key}).status_code == 401
        assert "frame-ancestors 'none'" in inside.get(other).headers["content-security-policy"] or "svg" in other
    assert outside.get("/word/ship/embed/trajectory", params={"key": key}).status_code == 401


def test_nothing_is_embedded_unless_sites_are_named(reader: TestClient, small_model: dw.Model) -> None:
    assert "/embed/" not in reader.get("/word/ship").text
    assert reader.get("/word/ship/embed/trajectory").status_code == 404
    policy = reader.get("/word/ship/figure/trajectory.html").headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'none'")
    for wrong in ("blog.example.org", "https://*", "https://a.example/path", "https://a.example; script-src *", ""):
        with pytest.raises(dw.OptionError, match="embed_in"):
            make_app(small_model, embed_in=[wrong])
    every = TestClient(make_app(small_model, embed_in=["http://localhost:8000"]), base_url=HERE)
    assert "key=" not in every.get("/compare/embed/similarity?words=ship,wheat").text
    framed = every.get("/compare/figure/similarity.html?words=ship,wheat")
    assert framed.headers["content-security-policy"].endswith("frame-ancestors http://localhost:8000")
