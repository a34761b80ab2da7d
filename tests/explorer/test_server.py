"""The server: its port, its end, and browsers that go away."""

import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

import metricfit as mf
from metricfit.cli import main
from metricfit.explorer.turns import Superseded, Turns
from metricfit.explorer.workbench import Workbench
from metricfit.methods import Record


@pytest.fixture
def explorer(payments):
    with mf.explore(payments.proba, payments.y, open_browser=False) as made:
        yield made


def post(explorer, path, body, timeout=60):
    address = explorer.url.partition("/?")[0] + path
    return httpx.post(address, json=body, headers={"x-metricfit-token": explorer.token}, timeout=timeout)


def test_it_answers_until_it_is_stopped(explorer):
    assert httpx.get(explorer.url).status_code == 200
    assert post(explorer, "/api/solve", {"objective": "accuracy"}).json()["status"] == "optimal"
    port = explorer.port
    explorer.stop()
    assert not explorer.running
    with pytest.raises(httpx.ConnectError):
        httpx.get(explorer.url)
    with socket.socket() as again:  # the port is free again
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))


def test_it_listens_on_this_machine_only(explorer):
    assert explorer._socket.getsockname()[0] == "127.0.0.1"


def test_each_start_has_a_token_of_its_own(payments, explorer):
    with mf.explore(payments.proba, payments.y, open_browser=False) as other:
        assert other.token != explorer.token
        assert other.port != explorer.port


def test_a_port_in_use_is_named(payments):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is not available: it is in use"):
            mf.explore(payments.proba, payments.y, port=port, open_browser=False)


@pytest.mark.parametrize("port", [-1, 65536, "80", True])
def test_a_port_that_is_none_is_refused(payments, port):
    with pytest.raises(ValueError, match="port must be a whole number"):
        mf.explore(payments.proba, payments.y, port=port, open_browser=False)


def test_a_start_that_cannot_be_solved_is_refused(payments):
    with pytest.raises(ValueError, match="nobody"):
        mf.explore(payments.proba, payments.y, "g_mean", ["recall('nobody') >= 0.5"], open_browser=False)


def test_a_browser_that_goes_away_stops_its_solve(explorer):
    application = explorer._application
    entered, ended = threading.Event(), threading.Event()

    def endless(body, turn):
        entered.set()
        try:
            while True:
                turn.check()
                time.sleep(0.01)
        except Superseded:
            ended.set()
            raise

    application.bench.solved = endless
    with pytest.raises(httpx.ReadTimeout):
        post(explorer, "/api/solve", {"objective": "accuracy"}, timeout=1)
    assert entered.is_set()
    assert ended.wait(20)
    del application.bench.solved
    assert post(explorer, "/api/solve", {"objective": "accuracy"}).status_code == 200


def test_the_newest_request_wins(explorer):
    application, answers = explorer._application, []
    entered, real = threading.Event(), explorer._application.bench.solved

    def slow(asked, turn):
        if str(asked.problem.objective) == "accuracy()":
            return real(asked, turn)
        entered.set()
        while True:
            turn.check()
            time.sleep(0.01)

    application.bench.solved = slow
    old = threading.Thread(
        target=lambda: answers.append(post(explorer, "/api/solve", {"objective": "g_mean"}))
    )
    old.start()
    assert entered.wait(20)
    assert post(explorer, "/api/solve", {"objective": "accuracy"}).json()["feasible"]
    old.join(20)
    assert answers[0].status_code == 409
    assert answers[0].json()["status"] == "superseded"


def test_a_solve_ends_curves_but_no_downloads():
    turns = Turns()
    curve, download = turns.next("frontier"), turns.next("download")
    turns.next("solve")
    download.check()
    with pytest.raises(Superseded):
        curve.check()


def test_an_aborted_request_prints_no_traceback(explorer, capfd):
    head = f"POST /api/solve HTTP/1.1\r\nhost: 127.0.0.1:{explorer.port}\r\nx-metricfit-token: {explorer.token}\r\n"
    for ends_in in ("{", ""):
        with socket.create_connection(("127.0.0.1", explorer.port)) as connection:
            kind = "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
            connection.sendall((head + kind + ends_in).encode())
            time.sleep(0.1)  # the server begins to read the body
    for _ in range(3):
        assert httpx.get(explorer.url, timeout=60).status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_solve_tells_how_far_it_is(explorer, monkeypatch):
    begun, waited = threading.Event(), threading.Event()
    told = {}

    def solving(self, asked, turn):
        turn.callback(Record(calls=7, seconds=0.1, value=0.25, bound=1.0, violation=0.0))
        begun.set()
        waited.wait(60)
        raise Superseded

    monkeypatch.setattr(Workbench, "solved", solving)
    address = explorer.url.replace("/?", "/api/progress?")
    assert httpx.get(address, timeout=60).json() == {"words": ""}

    def ask():
        where = explorer.url.replace("/?", "/api/solve?")
        told["status"] = httpx.post(where, json={"objective": "g_mean"}, timeout=60).status_code

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(60)
    assert httpx.get(address, timeout=60).json()["words"] == "0.2500 after 7 calls"
    waited.set()
    asking.join(60)
    assert told["status"] == 409


# The command


@pytest.fixture
def scores(payments, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(payments.proba, columns=[f"p_{c}" for c in payments.classes]).assign(
        y=payments.y
    )
    table.to_csv(tmp_path / "scores.csv", index=False)
    return str(tmp_path / "scores.csv")


def test_the_command_serves_until_it_is_interrupted(scores):
    words = ["explore", scores, "--label", "y", "--proba-prefix", "p_", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-m", "metricfit", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            address = process.stdout.readline().split()[-1]
            assert httpx.get(address, timeout=60).status_code == 200
            told = httpx.get(address.replace("/?", "/api/setup?"), timeout=60).json()
            assert told["rows"] == 2000
            assert told["counting"] == "auto"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()  # leaving the block waits for its end


def test_the_command_names_a_port_in_use(scores, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        words = ["explore", scores, "--label", "y", "--proba-prefix", "p_", "--no-browser", "--port", port]
        assert main(words) == 2
    error = capsys.readouterr().err
    assert f"port {port} is not available: it is in use; give another one" in error


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [
        (["--port", "70000"], 2, "is no port"),
        (["--objective", "g_men"], 2, "did you mean"),
        (["--subject-to", "recall('nobody') >= 0.5"], 2, "nobody"),
        (["--label", "none"], 4, "none"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(scores, capsys, more, code, word):
    words = ["explore", scores, "--label", "y", "--proba-prefix", "p_", "--no-browser", *more]
    assert main(words) == code
    assert word in capsys.readouterr().err


def test_every_command_counts_by_calibrated_probabilities(scores, tmp_path):
    words = ["--label", "y", "--proba-prefix", "p_", "--maximize", "g_mean", "--counting", "calibrated"]
    policy = str(tmp_path / "policy.json")
    assert main(["fit", scores, *words, "--no-expect", "--out", policy]) == 0
    assert mf.Policy.load(policy).provenance["counting"] == "calibrated"
    table = str(tmp_path / "table.csv")
    trade = ["--trade", "precision('fraud')", "--levels", "0.5,0.6"]
    assert main(["frontier", scores, *words, *trade, "--out", table]) == 0
    assert "optimal" in (tmp_path / "table.csv").read_text()
