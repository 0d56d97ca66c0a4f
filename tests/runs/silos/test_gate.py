"""The gate of a Flower server: who gets in, request by request, and by real processes."""

import asyncio
import importlib.util
import ipaddress
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import rankproof
from runs.settings import RunError
from runs.silos.app import write_app

if importlib.util.find_spec("flwr") is None:
    pytest.skip("flwr is not a part of the core", allow_module_level=True)

import httpx
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from runs.silos.gate import MOST_BYTES, MOST_HEADERS, Gate, keep_gate

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


async def pieces(*parts):
    for part in parts:
        yield part


def asked(path, method="POST", query=b"", headers=(), body=(b"ab", b"c"), answer=None, **patience):
    """The gate's answer to one request, and the requests that Flower's server got."""
    came, sent = [], []

    async def served(request):
        came.append((request, await request.aread()))
        return answer(request) if answer else httpx.Response(200, content=pieces(b"do", b"ne"))

    parts = [{"type": "http.request", "body": part, "more_body": True} for part in body]
    parts.append({"type": "http.request", "body": b""})

    async def receive():
        return parts.pop(0) if parts[0]["body"] is not None else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def exchange():
        async with httpx.AsyncClient(transport=httpx.MockTransport(served)) as client:
            scope = {"type": "http", "method": method, "raw_path": path, "query_string": query, "headers": headers}
            await Gate("https://127.0.0.1:8000", client, **patience)(scope, receive, send)

    asyncio.run(exchange())
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), came


def test_requests_of_silos_are_passed_on_whole():
    headers = [(b"host", b"server.example"), (b"flwr-signature", b"abc"), (b"transfer-encoding", b"chunked")]
    status, body, ((request, content),) = asked(b"/v1/fleet/push-object", headers=headers)
    assert (status, body, content) == (200, b"done", b"abc")
    assert str(request.url) == "https://127.0.0.1:8000/v1/fleet/push-object"
    assert (request.headers["flwr-signature"], request.headers["host"]) == ("abc", "127.0.0.1:8000")


@pytest.mark.parametrize(
    "path",
    [
        b"/v1/control/register-node",
        b"/v1/control/start-run",
        b"/v1/runtime/acquire-task",
        b"/v1/fleet/../control/start-run",
        b"/v1/fleet/..%2fcontrol%2fstart-run",
        b"/v1/fleet/%2e%2e/control/start-run",
        b"/v1/fleet//control/start-run",
        b"/v1/fleet/",
        b"/v1/fleet/push-object\n",
        b"/v1/fleet/push-object;x",
        b"//v1/control/start-run",
        b"/V1/CONTROL/start-run",
        b"http://127.0.0.1:8000/v1/control/start-run",
        b"/health",
        b"/docs",
        b"/openapi.json",
        b"*",
        b"",
    ],
)
def test_nothing_else_is(path):
    assert asked(path)[::2] == (404, [])


def test_neither_another_method_nor_a_query_is_passed_on():
    assert asked(b"/v1/fleet/push-object", method="GET")[::2] == (404, [])
    assert asked(b"/v1/fleet/push-object", query=b"a=1")[::2] == (404, [])


def test_a_request_without_measure_goes_no_further():
    path, headers = b"/v1/fleet/push-object", [(b"x", b"y")]
    assert asked(path, headers=headers * MOST_HEADERS)[0] == 200
    assert asked(path, headers=headers * (MOST_HEADERS + 1))[::2] == (400, [])
    both = [(b"Content-Length", b"3"), (b"Transfer-Encoding", b"chunked")]
    assert asked(path, headers=both)[::2] == (400, [])
    part = bytes(MOST_BYTES // 4)
    assert asked(path, body=[part] * 4)[0] == 200
    status, said, came = asked(path, body=[*[part] * 4, b"1"])
    assert (status, said, came) == (413, b"a request has at most 33,554,432 bytes", [])
    assert asked(path, body=[b"a", None], silence=0.01)[::2] == (408, [])


def test_an_answer_that_breaks_off_ends_without_an_error():
    async def broken():
        yield b"do"
        raise httpx.ReadError("reset")

    status, body, _ = asked(b"/v1/fleet/pull-object", answer=lambda request: httpx.Response(200, content=broken()))
    assert (status, body) == (200, b"do")


def test_headers_without_end_are_refused_and_the_gate_goes_on(tmp_path, monkeypatch):
    certify(tmp_path / "certificates")
    came, servers, client = [], [], httpx.AsyncClient

    async def served(request):
        came.append(request)
        return httpx.Response(200, content=await request.aread())

    monkeypatch.setattr(httpx, "AsyncClient", lambda **options: client(transport=httpx.MockTransport(served)))
    monkeypatch.setattr(
        "uvicorn.run",
        lambda app, **options: servers.append(uvicorn.Server(uvicorn.Config(app, **options, log_level="critical"))),
    )
    keep_gate(tmp_path / "certificates")
    door = socket.create_server(("127.0.0.1", 0))
    address = door.getsockname()
    thread = threading.Thread(target=servers[0].run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    trusted = ssl.create_default_context(cafile=tmp_path / "certificates" / "ca.pem")

    def answered(*parts):
        """The first line of the answer; none where the gate hangs up."""
        with (
            socket.create_connection(address, 20.0) as line,
            trusted.wrap_socket(line, server_hostname="localhost") as silo,
        ):
            try:
                silo.sendall(b"POST /v1/fleet/push-object HTTP/1.1\r\nHost: a\r\n")
                for part in parts:
                    silo.sendall(part)
                return silo.recv(1000).partition(b"\r\n")[0].strip()
            except OSError:
                return b""

    try:
        for hostile in (
            [b"".join(b"x%d: y\r\n" % place for place in range(30_000)), b"Content-Length: 0\r\n\r\n"],
            [b"x: " + b"y" * 2_000_000, b"\r\nContent-Length: 0\r\n\r\n"],
        ):
            assert answered(*hostile) in (b"", b"HTTP/1.1 400 Bad Request", b"HTTP/1.1 400")
        assert not came
        assert answered(b"Content-Length: 3\r\n\r\nabc") == b"HTTP/1.1 200 OK"
    finally:
        servers[0].should_exit = True
        thread.join()


def test_a_server_that_is_gone_is_one_to_ask_again_and_the_gate_says_why(capsys):
    def gone(request):
        raise httpx.ConnectError("certificate has expired")

    assert asked(b"/v1/fleet/pull-messages", answer=gone)[0] == 502
    assert capsys.readouterr().err.endswith(" cannot be reached: certificate has expired\n")
    assert asked(b"/v1/fleet/pull-messages", answer=lambda request: httpx.Response(401, content=pieces()))[0] == 401


def test_a_gate_without_certificates_or_with_an_odd_address_is_refused_in_a_line(tmp_path, capsys):
    with pytest.raises(RunError, match=r"needs .*server.pem, .*server.key, .*ca.pem"):
        keep_gate(tmp_path)
    for address in ("8443", ":8443", "0.0.0.0:0", "0.0.0.0:65536", "0.0.0.0:x", "a/b:1", "::1:8443"):
        assert rankproof.main(["flower", "gate", str(tmp_path), "--listen", address]) == 2
        assert capsys.readouterr().err.startswith("rankproof: --listen must")
    for name in ("server.pem", "server.key", "ca.pem"):
        (tmp_path / name).write_text("no certificate")
    with pytest.raises(RunError, match="does not hold a matching certificate and key"):
        keep_gate(tmp_path)
    assert rankproof.main(["flower", "new", str(tmp_path / "app"), "--listen", "0.0.0.0:1"]) == 2
    assert not (tmp_path / "app").exists()


@pytest.mark.parametrize(
    ("wrong", "why"), [("expired", "certificate has expired"), ("of another authority", "local issuer|signature")]
)
def test_a_gate_whose_certificate_silos_would_refuse_is_refused_in_a_line(tmp_path, wrong, why):
    certify(tmp_path / "made", until=timedelta(hours=-1 if wrong == "expired" else 24))
    if wrong == "of another authority":
        certify(tmp_path / "others")
        shutil.copy(tmp_path / "others" / "ca.pem", tmp_path / "made")
    with pytest.raises(RunError, match=rf"silos would refuse .*server.pem, or ca.pem that signed it \(.*({why}).*\)"):
        keep_gate(tmp_path / "made", superlink="127.0.0.1:1")


def test_a_gate_with_the_certificates_of_the_readme_starts(tmp_path, monkeypatch):
    """Its commands make them, with OpenSSL 3."""
    write_app(tmp_path / "app", "fedavg", ("north",))
    lines = re.findall(r"(?:^    .+\n)+", (tmp_path / "app" / "README.md").read_text(), flags=re.M)
    (commands,) = (block for block in lines if "openssl" in block)
    openssl = shutil.which("openssl")
    if not (openssl and re.match("OpenSSL [3-9]", subprocess.check_output([openssl, "version"], text=True))):
        pytest.skip("needs OpenSSL 3")
    subprocess.run(["sh", "-e", "-c", commands], cwd=tmp_path / "app", check=True, capture_output=True)
    started = []
    monkeypatch.setattr("uvicorn.run", lambda gate, **options: started.append(options["ssl_certfile"]))
    keep_gate(tmp_path / "app" / "certificates")
    assert started == [tmp_path / "app" / "certificates" / "server.pem"]


def certify(folder, until=timedelta(days=1)):
    """The three files of certificates of the README, for a server that is called localhost."""
    folder.mkdir()
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("authority", "localhost")]
    now = datetime.now(UTC)
    for place, (file, name, key) in enumerate(zip(("ca.pem", "server.pem"), names, keys, strict=True)):
        made = x509.CertificateBuilder(names[0], name, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + until)
        made = made.add_extension(x509.BasicConstraints(ca=not place, path_length=None), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(keys[0].public_key())
        if place:
            here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            made = made.add_extension(x509.SubjectAlternativeName(here), critical=False)
            authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
            made = made.add_extension(authority, critical=False)
        else:
            usage = dict.fromkeys(
                (
                    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
                    *("key_agreement", "encipher_only", "decipher_only"),
                ),
                False,
            )
            made = made.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
            made = made.add_extension(identifier, critical=False)
        (folder / file).write_bytes(made.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.key").write_bytes(keys[1].private_bytes(*form))


def keyed(path):
    """A silo's key as `ssh-keygen -t ecdsa -b 384` makes one."""
    path.parent.mkdir(exist_ok=True)
    key = ec.generate_private_key(ec.SECP384R1())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(*form))
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public)


def commands_of(readme):
    """The commands of a README, by their first words, and its table of connections."""
    blocks = [block.replace("\\\n", " ") for block in re.findall(r"(?:^    .+\n)+", readme, flags=re.M)]
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(flwr supernode register [^`]+)`", readme)
    found = {}
    for line in (*lines, *inline):
        words = line.split()
        found[" ".join(words[:2]) if words[0] in ("flwr", "rankproof") else words[0]] = shlex.split(line)
    start = next(place for place, line in enumerate(lines) if line.startswith("[superlink."))
    return found, "\n".join(lines[start : start + 3]) + "\n"


@pytest.mark.slow
def test_the_stranger_and_the_key_that_nobody_registered_stay_out_and_the_registered_silo_works(tmp_path, monkeypatch):
    """The commands are those of the written README, but for their addresses."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from loopback import READY, Processes, free_port

    app, evil = tmp_path / "app", tmp_path / "evil"
    write_app(app, "fedavg", ("north",))
    write_app(evil, "fedavg", ("north",))
    certify(app / "certificates")
    for name in ("north", "stranger"):
        keyed(app / "keys" / name)
    inner, outer = free_port(), free_port()
    readme = (app / "README.md").read_text()
    for one, other in (
        ("0.0.0.0:8443", f"127.0.0.1:{outer}"),
        ("server.example:8443", f"localhost:{outer}"),
        ("127.0.0.1:8000", f"127.0.0.1:{inner}"),
        ("--port 8000", f"--port {inner}"),
        ("--port 9094", f"--port {free_port()}"),
        ("/srv/app/", f"{app}/"),
        ("/var/lib/silo", str(tmp_path / "kept")),
    ):
        assert one in readme
        readme = readme.replace(one, other)
    words, connections = commands_of(readme)
    with Processes(tmp_path, app) as there:
        outside = connections.replace(f"127.0.0.1:{inner}", f"localhost:{outer}").replace("silos]", "outside]")
        there.connect(connections + outside)
        there.start("server", words["flower-superlink"], READY)
        there.start("gate", [sys.executable, "-m", "rankproof", *words["rankproof flower"][1:]], READY)

        register = words["flwr supernode"]
        for attempt in (
            [*register[:-2], "keys/stranger.pub", "outside"],
            ["flwr", "run", str(evil), "outside"],
            ["flwr", "list", "outside"],
        ):
            status, said = there.run(attempt)
            assert status, said
            assert "404" in said
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection(("127.0.0.2", inner), 2.0)  # as from another machine
        unknown = shlex.join(words["flower-supernode"]).replace("keys/north", "keys/stranger")
        there.start("stranger", shlex.split(unknown))
        assert there.ended("stranger") != 0
        assert re.search(r'fleet/activate-node HTTP/1.1" 4\d\d', there.log("server"))

        assert there.run(register)[0] == 0
        there.start("north", words["flower-supernode"])
        run = [*words["flwr run"][:-1], "--run-config", f'rounds=1 seconds=120.0 folder="{tmp_path / "results"}"']
        assert there.run(run)[0] == 0
        until = time.monotonic() + 120.0
        while "Sent successfully" not in there.log("north"):  # a silo's answer to its first letter
            assert time.monotonic() < until, there.log("server")[-2000:] + there.log("north")[-2000:]
            time.sleep(0.2)
        assert there.log("server").count("control/start-run") == there.log("server").count("control/register-node") == 1
    assert not there.left()
