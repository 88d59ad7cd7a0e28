"""TCP ports of this host: finding one that is free and asking who listens on one."""

import socket

import psutil


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def listeners(port: int) -> set[int | None]:
    """Return the ids of the processes that listen on a TCP port, None for another user's.

    vLLM binds with SO_REUSEPORT, so two servers of one user can share a port unnoticed, each
    getting a part of the connections.
    """
    return {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
    }
