"""The SDK's Agent, through its public API."""

from puppet import run, tell_event  # first: it takes stdout away from the SDK

import base64
import sys
from typing import Any

from a2c_smcp.agent import AgentAuthProvider, AsyncSMCPAgentClient
from a2c_smcp.smcp import (
    CANCEL_TOOL_CALL_EVENT,
    GET_CONFIG_EVENT,
    SMCP_NAMESPACE,
    TOOL_CALL_EVENT,
    UPDATE_DESKTOP_NOTIFICATION,
    UPDATE_TOOL_LIST_NOTIFICATION,
)


class Auth(AgentAuthProvider):
    def __init__(self, name: str, office: str, token: str) -> None:
        self.name = name
        self.office = office
        self.token = token

    def get_agent_id(self) -> str:
        return self.name

    def get_connection_auth(self) -> dict[str, str] | None:
        return {"token": self.token} if self.token else None

    def get_connection_headers(self) -> dict[str, str]:
        return {}

    def get_agent_config(self) -> dict[str, str]:
        return {"agent": self.name, "office_id": self.office}


class Handler:
    """What the SDK tells the user of an Agent."""

    async def on_computer_enter_office(self, data: Any, client: Any) -> None:
        tell_event("enter_office", data)

    async def on_computer_leave_office(self, data: Any, client: Any) -> None:
        tell_event("leave_office", data)

    async def on_computer_update_config(self, data: Any, client: Any) -> None:
        tell_event("update_config", data)

    async def on_tools_received(self, computer: str, tools: Any, client: Any) -> None:
        tell_event("tools", {"computer": computer, "names": [t["name"] for t in tools]})

    async def on_skills_received(self, computer: str, skills: Any, client: Any) -> None:
        pass


class Agent:
    def __init__(self, name: str, office: str, token: str = "") -> None:
        self.name = name
        self.office = office
        self.client = AsyncSMCPAgentClient(Auth(name, office, token), Handler())
        # The SDK has no callback for these.
        for event, short in (
            ("connect", "connected"),
            (UPDATE_TOOL_LIST_NOTIFICATION, "update_tool_list"),
            (UPDATE_DESKTOP_NOTIFICATION, "update_desktop"),
            ("notify:update_skills", "update_skills"),
        ):
            self._also(event, short)

    def _also(self, event: str, short: str) -> None:
        own = self.client.handlers.get(SMCP_NAMESPACE, {}).get(event)

        async def heard(*data: Any) -> None:
            tell_event(short, *data)
            if own:
                await own(*data)

        self.client.on(event, heard, namespace=SMCP_NAMESPACE)

    async def connect(self, url: str) -> None:
        await self.client.connect_to_server(url, wait_timeout=30)

    async def join(self) -> None:
        await self.client.join_office(self.office, self.name, SMCP_NAMESPACE)

    async def leave(self) -> None:
        await self.client.leave_office(self.office, SMCP_NAMESPACE)

    async def computers(self) -> list[str]:
        found = await self.client.get_computers_in_office(self.office)
        return [computer["name"] for computer in found]

    async def tools(self, computer: str) -> Any:
        return (await self.client.get_tools_from_computer(computer))["tools"]

    async def desktop(self, computer: str) -> Any:
        return (await self.client.get_desktop_from_computer(computer))["desktops"]

    async def config(self, computer: str, timeout: int = 20) -> Any:
        request = {"agent": self.name, "req_id": "config", "computer": computer}
        return await self.client.call(GET_CONFIG_EVENT, request, SMCP_NAMESPACE, timeout)

    async def skills(self, computer: str) -> Any:
        return (await self.client.get_skills(computer))["skills"]

    async def skill(self, computer: str, name: str, path: str | None = None) -> Any:
        """A file of a skill; what the SDK does not fetch itself comes in chunks."""
        found = await self.client.get_skill(computer, name, path)
        if "body" in found:
            data = found["body"].encode()
        else:
            data = await self._blob(computer, found["blob_handle"])
        content = base64.b64encode(data).decode()
        return {"mime_type": found["mime_type"], "content": content}

    async def _blob(self, computer: str, handle: str) -> bytes:
        data = b""
        while True:
            part = await self.client.get_blob(
                computer, handle, chunk_offset=len(data)
            )
            data += base64.b64decode(part["blob"])
            if part["eof"]:
                return data

    async def put(self, computer: str, name: str, content: str) -> str:
        data = base64.b64decode(content)
        put = await self.client.put_blob(computer, data, name_hint=name)
        return put.landing_path

    async def call(self, computer: str, tool: str, params: Any, timeout: int) -> Any:
        result = await self.client.emit_tool_call(computer, tool, params, timeout)
        return result.model_dump(mode="json", by_alias=True)

    async def call_as(
        self, req_id: str, computer: str, tool: str, params: Any, timeout: int
    ) -> Any:
        """A call that can be cancelled by its req_id: the SDK's own keeps it to itself."""
        request = {
            "agent": self.name,
            "req_id": req_id,
            "computer": computer,
            "tool_name": tool,
            "params": params,
            "timeout": timeout,
        }
        return await self.client.call(
            TOOL_CALL_EVENT, request, SMCP_NAMESPACE, timeout + 5
        )

    async def cancel(self, req_id: str) -> None:
        request = {"agent": self.name, "req_id": req_id}
        await self.client.emit(CANCEL_TOOL_CALL_EVENT, request, SMCP_NAMESPACE)

    async def close(self) -> None:
        await self.client.disconnect()


run(Agent(*sys.argv[1:]))
