"""The Python SDK's Server, as its documentation serves it; with the version gate where it has one."""

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


async def main() -> None:
    sio = socketio.AsyncServer(async_mode="asgi", max_http_buffer_size=16 * 2**20)
    sio.register_namespace(SMCPNamespace(Anybody()))
    app: Any = socketio.ASGIApp(sio)
    gate = getattr(a2c_smcp.server, "A2CProtocolVersionASGIMiddleware", None)
    config = uvicorn.Config(gate(app) if gate else app, log_level="warning")
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"listening on {listener.getsockname()[1]}", flush=True)
    await uvicorn.Server(config).serve([listener])


asyncio.run(main())
