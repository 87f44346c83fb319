"""Fetching a public file: it is there whole and with its checksum, or nothing is."""

import asyncio
from hashlib import sha256

import pytest
from yarl import URL

from novarag import ServiceError
from novarag.web import download as module
from novarag.web.download import FileDownload, download
from tests.support.file_server import file_server

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
BODY = b"released\n" * 20_000
REAL = {"size": len(BODY), "sha256": sha256(BODY).hexdigest()}


def fetch(served, place, *, path="/file", **settings):
    wanted = FileDownload(address=served.url + path, **REAL)
    asyncio.run(download(wanted, place, pause=0.001, **settings))


def left(folder):
    return sorted(p.name for p in folder.rglob("*"))


def test_a_file_is_put_in_its_place_without_a_key_or_a_cookie(tmp_path):
    with file_server({"/file": [(200, {"Set-Cookie": "a=b"}, BODY)]}) as served:
        fetch(served, tmp_path / "deep" / "file")
        assert (tmp_path / "deep" / "file").read_bytes() == BODY
        [sent] = served.headers
    assert sent["Accept-Encoding"] == "identity"
    assert not {"Authorization", "Cookie"} & set(sent)
    assert left(tmp_path) == ["deep", "file"]


WRONG = {
    "longer than it says": ({"Content-Length": None}, BODY + b"more", "more than 180,000 bytes"),
    "longer and says so": ({}, BODY + b"more", "has 180,004 bytes, not 180,000"),
    "another file of the same size": ({}, BODY[:-1] + b"!", "its checksum is another"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_the_file_is_not_kept_nor_asked_for_again(name, tmp_path):
    headers, body, said = WRONG[name]
    (tmp_path / "file").write_text("before")
    with file_server({"/file": [(200, headers, body)]}) as served:
        with pytest.raises(ServiceError, match=said) as caught:
            fetch(served, tmp_path / "file")
        assert served.asked == ["/file"]
    assert not caught.value.retryable
    assert (tmp_path / "file").read_text() == "before"
    assert left(tmp_path) == ["file"]


def test_a_broken_connection_and_a_busy_server_are_tried_again(tmp_path):
    short = {"Content-Length": None}
    answers = [(503, {}, b"busy"), (200, short, BODY[:500]), (200, {}, BODY)]
    with file_server({"/file": answers}) as served:
        fetch(served, tmp_path / "file")
        assert len(served.asked) == 3
    assert (tmp_path / "file").read_bytes() == BODY


def test_it_gives_up_with_words(tmp_path):
    with file_server({"/file": [(500, {}, b"")]}) as served:
        with pytest.raises(ServiceError, match=r"/file could not be fetched: HTTP 500") as caught:
            fetch(served, tmp_path / "file", attempts=2)
        assert len(served.asked) == 2
        assert caught.value.retryable
        with pytest.raises(ServiceError, match="HTTP 404"):
            fetch(served, tmp_path / "file", path="/gone")
        assert served.asked.count("/gone") == 1
    with pytest.raises(ServiceError, match="cannot connect to 127"):
        fetch(served, tmp_path / "file", attempts=1)
    assert left(tmp_path) == []


def test_a_slow_server_is_not_waited_for_without_end(tmp_path):
    with (
        file_server({"/file": [(200, {"X-Wait": "0.5"}, BODY)]}) as served,
        pytest.raises(ServiceError, match="did not answer in time"),
    ):
        fetch(served, tmp_path / "file", attempts=1, timeout=0.05)
    assert left(tmp_path) == []


def test_redirects_are_followed_to_web_addresses_only(tmp_path):
    with file_server({"/file": BODY}) as served:
        served.answers["/moved"] = [(302, {"Location": "/file"}, b"")]
        served.answers["/far"] = [(301, {"Location": served.url + "/moved"}, b"")]
        fetch(served, tmp_path / "file", path="/far")
        assert served.asked == ["/far", "/moved", "/file"]
        for place in ("file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "", "http://["):
            served.answers["/bad"] = [(302, {"Location": place}, b"")]
            with pytest.raises(ServiceError, match="no web address"):
                fetch(served, tmp_path / "other", path="/bad")
        served.answers["/round"] = [(302, {"Location": "/round"}, b"")]
        with pytest.raises(ServiceError, match="more than 5 times"):
            fetch(served, tmp_path / "other", path="/round")
    assert left(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "address", ["http://", "http://[::1/x", "http://a..b/x", "http://a:port/x"]
)
def test_what_is_no_address_is_said_at_once(address, tmp_path):
    wanted = FileDownload(address=address, **REAL)
    with pytest.raises(ServiceError) as caught:
        asyncio.run(download(wanted, tmp_path / "file", attempts=1))
    assert "no web address" in str(caught.value) or "cannot connect" in str(caught.value)


class Answer:
    def __init__(self, location):
        self.headers = {"Location": location}


def test_never_from_https_to_http_and_no_password_is_taken_along():
    secure = URL("https://data.example/file")
    with pytest.raises(module._FailedAttempt, match="from https to http"):
        module._redirected(secure, Answer("http://data.example/file"))
    kept = module._redirected(secure, Answer("https://me:secret@other.example/x"))
    assert str(kept) == "https://other.example/x"
