"""A socket to listen on, for the servers of ours."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from guerdon.core.errors import UserError

LOCAL = ("127.0.0.1", "localhost", "[::1]")  # what a request calls this machine
WAITING = 2048  # connections that the system holds until they are taken up


def is_loopback(host: str, port: int = 0) -> bool:
    """Whether only this machine can reach a server there."""
    return all(ipaddress.ip_address(str(place[4][0])).is_loopback for place in _places(host, port))


def host_name(header: str) -> str:
    """The host of a `Host` header, without its port."""
    name, colon, port = header.lower().rpartition(":")
    return name if colon and port.isdigit() else header.lower()


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any free one."""
    family, _, _, _, address = _places(host, port)[0]
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(WAITING)
    except OSError as error:
        bound.close()
        if isinstance(error, PermissionError):
            raise UserError(f"port {port} needs more rights than this process has: choose one above 1023") from error
        raise UserError(f"{host}:{port} can not be listened on ({error.strerror}): choose another --port") from error
    return bound


def url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _places(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise UserError(f"--host {host} is not an address of this machine: {error}") from error
