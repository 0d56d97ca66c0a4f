"""The gate of a Flower server: it lets silos in, and keeps outsiders from controlling the server.

Flower serves three interfaces at one address. Silos need only the fleet interface, where each request is signed with
the key of a silo. The control interface asks for no key: who reaches it registers silos and runs any code at the server
and in the silos' processes. So Flower's server listens on its own machine only, and the gate passes silos' requests on
to it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from runs.settings import RunError

try:
    import httpx
    import uvicorn
except ImportError as error:
    raise RunError("the gate needs Flower: pip install 'rankproof[flower]'") from error

LISTEN, SUPERLINK = "0.0.0.0:8443", "127.0.0.1:8000"
"""Addresses where the gate listens, and where it finds Flower's server."""
CERTIFICATE, KEY, AUTHORITY = "server.pem", "server.key", "ca.pem"
"""Files of the folder of certificates."""
_FLEET = re.compile(rb"/v1/fleet/[a-z0-9-]+")
_OF_ONE_CONNECTION = {
    *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    *(b"host", b"expect"),
}
_PATIENCE = httpx.Timeout(120.0, connect=10.0)
MOST_BYTES = 1 << 25
"""Largest body of a request; Flower cuts tensors into parts of 5 MiB, and the text of a message has at most 4 MiB."""
MOST_HEADERS = 64
"""Most headers of a request; Flower's silos send about ten."""
SILENCE, WHOLE = 60.0, 600.0
"""Seconds that the next part of a body may take, and the whole body."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class _RefusedError(Exception):
    """A refused request."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Gate:
    """An ASGI application that forwards requests to the fleet interface and refuses all others."""

    def __init__(self, superlink: str, client: httpx.AsyncClient, silence: float = SILENCE) -> None:
        """Store the arguments; nothing is connected yet.

        Args:
            superlink: Address of Flower's server, as a URL.
            client: Client that the requests are passed on with.
            silence: Seconds that the next part of a body may take.
        """
        self._superlink, self._client, self._silence = superlink.rstrip("/"), client, silence
        self._said = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])  # how an application says that it has no start, and no sockets
        path = bytes(scope.get("raw_path") or b"")
        if scope["method"] != "POST" or scope["query_string"] or not _FLEET.fullmatch(path):
            await _answer(send, 404, b"only silos are served here")
            return
        names = [name.lower() for name, _ in scope["headers"]]
        if len(names) > MOST_HEADERS or {b"content-length", b"transfer-encoding"} <= {*names}:
            await _answer(send, 400, b"too many headers, or two lengths")
            return
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _OF_ONE_CONNECTION]
        request = self._client.build_request(
            "POST", f"{self._superlink}{path.decode()}", headers=headers, content=self._body(receive)
        )
        try:
            response = await self._client.send(request, stream=True)
            self._said = ""
        except httpx.TransportError as error:
            self._say(f"{self._superlink} cannot be reached: {str(error) or type(error).__name__}")
            await _answer(send, 502, b"Flower's server does not answer")  # a silo tries again
            return
        except _RefusedError as error:
            await _answer(send, error.status, str(error).encode())
            return
        try:
            passed = [(name, value) for name, value in response.headers.raw if name.lower() not in _OF_ONE_CONNECTION]
            await send({"type": "http.response.start", "status": response.status_code, "headers": passed})
            async for part in response.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except httpx.TransportError:
            return  # Flower's server broke off, and so does the gate: a silo sees that the answer is not whole
        finally:
            await response.aclose()

    def _say(self, text: str) -> None:
        """Print why Flower's server cannot be reached; the same reason once, because every silo keeps asking."""
        if text != self._said:
            print(f"gate: {text}", file=sys.stderr, flush=True)
        self._said = text

    async def _body(self, receive: Receive) -> AsyncIterator[bytes]:
        """Yield the body of a request as it arrives; Flower's server reads it whole before it checks the key."""
        size, until = 0, time.monotonic() + WHOLE
        while True:
            try:
                message = await asyncio.wait_for(receive(), min(self._silence, until - time.monotonic()))
            except TimeoutError as error:
                raise _RefusedError(408, "the request took too long") from error
            if message["type"] != "http.request":
                raise httpx.ReadError("the silo went away")
            part = message.get("body", b"")
            size += len(part)
            if size > MOST_BYTES:
                raise _RefusedError(413, f"a request has at most {MOST_BYTES:,} bytes")
            yield part
            if not message.get("more_body", False):
                return


def keep_gate(folder: Path, listen: str = LISTEN, superlink: str = SUPERLINK) -> None:
    """Listen until interrupted.

    Args:
        folder: Folder with the server's certificate, its key, and the authority that signed it.
        listen: Address that silos reach, as host:port.
        superlink: Address of Flower's server, as host:port.

    Raises:
        RunError: An address or a file is not valid.
    """
    (host, port), (inner, at) = _address("--listen", listen), _address("--superlink", superlink)
    missing = [str(folder / name) for name in (CERTIFICATE, KEY, AUTHORITY) if not (folder / name).is_file()]
    if missing:
        raise RunError(f"the gate needs {', '.join(missing)}; the README of the app explains them")
    try:
        trusted = ssl.create_default_context(cafile=str(folder / AUTHORITY))
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    except (ssl.SSLError, OSError) as error:
        raise RunError(f"{folder} does not hold a matching certificate and key ({error})") from error
    _require_trusted(folder, own)
    # Without a limit, because a hundred slow requests of strangers would keep those of silos waiting.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    client = httpx.AsyncClient(verify=trusted, timeout=_PATIENCE, limits=limits, trust_env=False)
    uvicorn.run(
        Gate(f"https://{inner}:{at}", client),
        host=host.strip("[]"),
        port=port,
        ssl_certfile=folder / CERTIFICATE,
        ssl_keyfile=str(folder / KEY),
        http="h11",  # which measures the headers of a request; httptools takes headers without end
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        access_log=False,
    )


def _require_trusted(folder: Path, server: ssl.SSLContext) -> None:
    """Check that a silo that trusts the authority accepts the server's certificate, under any name.

    Raises:
        RunError: It does not: a certificate has expired, another authority has signed it, or TLS does not accept the
            kind of its key.
    """
    silo = ssl.create_default_context(cafile=str(folder / AUTHORITY))
    silo.check_hostname = False
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = silo.wrap_bio(down, up), server.wrap_bio(up, down, server_side=True)
    for end in ends * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except (ssl.SSLError, OSError) as error:
            why = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
            raise RunError(
                f"silos would refuse {folder / CERTIFICATE}, or {AUTHORITY} that signed it ({why}); the README of the "
                "app says how to make both"
            ) from error


def _address(option: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"[\w.-]+|\[[0-9a-fA-F:.]+\]", host) or not re.fullmatch(r"[0-9]{1,5}", port):
        raise RunError(f"{option} must be host:port, got {text!r}")
    if not 1 <= int(port) <= 65535:
        raise RunError(f"{option} must have a port from 1 to 65535, got {text!r}")
    return host, int(port)


async def _answer(send: Send, status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
