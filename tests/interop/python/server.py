"""The SDK's Server, as its documentation serves it; with the version gate where it has one."""

from puppet import run  # first: it takes stdout away from the SDK

import asyncio
import socket
from typing import Any

import a2c_smcp.server
import socketio
import uvicorn
from a2c_smcp.server import AuthenticationProvider, SMCPNamespace


class Anybody(AuthenticationProvider):
    async def authenticate(
        self, sio: Any, environ: dict[str, Any], auth: Any, headers: list[Any]
    ) -> bool:
        return True


class Server:
    def __init__(self) -> None:
        sio = socketio.AsyncServer(async_mode="asgi")
        sio.register_namespace(SMCPNamespace(Anybody()))
        app: Any = socketio.ASGIApp(sio)
        gate = getattr(a2c_smcp.server, "A2CProtocolVersionASGIMiddleware", None)
        config = uvicorn.Config(gate(app) if gate else app, log_level="warning")
        self.server = uvicorn.Server(config)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.serving: asyncio.Task[None] | None = None

    async def listen(self) -> str:
        # It listens already: who connects before uvicorn accepts waits in the queue.
        self.serving = asyncio.create_task(self.server.serve([self.socket]))
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    async def close(self) -> None:
        self.server.should_exit = True
        self.server.force_exit = True
        if self.serving:
            await self.serving


run(Server())
