"""Only the page itself, on this machine, with the token of this start, is answered."""

import pytest

BODY = {"objective": "accuracy"}


def test_the_page_and_its_files_are_served(client):
    page = client.get("/")
    assert page.status_code == 200
    assert "metricfit explorer" in page.text
    for name in ("style.css", "main.js", "dom.js", "drawings.js", "tables.js", "server.js", "icon.svg"):
        assert client.get(f"/page/{name}").status_code == 200, name
    assert client.get("/page/..%2Fapp.py").status_code == 404
    assert client.get("/page/none.js").status_code == 404


def test_nothing_comes_from_elsewhere(client):
    for name in ("/", "/page/style.css", "/page/main.js", "/page/drawings.js", "/page/tables.js"):
        response = client.get(name)
        text = response.text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil:{port}"]
)
def test_other_hosts_are_refused(client, running, host):
    host = host.format(port=running.port)
    assert client.get("/", headers={"host": host}).status_code == 421
    assert client.post("/api/solve", json=BODY, headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
def test_names_of_this_machine_are_answered(client, running, host):
    host = f"{host}:{running.port}"
    assert client.get("/api/setup", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:9"]
)
def test_other_origins_are_refused(client, running, origin):
    origin = origin.format(port=running.port)
    assert client.post("/api/solve", json=BODY, headers={"origin": origin}).status_code == 403


def test_the_own_origin_is_answered(client, running):
    headers = {"origin": f"http://127.0.0.1:{running.port}"}
    assert client.post("/api/solve", json=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize("given", [lambda token: "", lambda token: "another", lambda token: token[:-1]])
@pytest.mark.parametrize("path", ["/", "/api/setup"])
def test_a_wrong_token_is_refused(client, running, path, given):
    response = client.get(path, headers={"x-metricfit-token": given(running.token)})
    assert response.status_code == 403
    assert "open the address that was printed" in response.text


def test_the_token_may_be_in_the_address_or_a_header(client, running):
    client.headers.pop("x-metricfit-token")
    assert client.get("/api/setup").status_code == 403
    assert client.get(f"/api/setup?token={running.token}").status_code == 200
    bearer = {"authorization": f"Bearer {running.token}"}
    assert client.get("/api/setup", headers=bearer).status_code == 200


def test_a_form_of_another_page_cannot_ask(client):
    response = client.post("/api/solve", content=b"{}", headers={"content-type": "text/plain"})
    assert response.status_code == 415


def test_long_bodies_are_refused(client):
    response = client.post("/api/solve", json={"objective": "x" * 300_000})
    assert response.status_code == 413
