"""A loop of OpenAI's SDK for Python that uses the tools of an office."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from openai import AsyncOpenAI

OFFICE_URL = os.environ.get("OFFICE_URL", "http://127.0.0.1:8787/mcp/home")


async def main(prompt: str) -> None:
    model = AsyncOpenAI()
    async with Client(OFFICE_URL, auth=os.environ.get("SMCP_API_KEY")) as office:
        tools = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": False,
            }
            for tool in await office.list_tools()
        ]
        messages = [{"role": "user", "content": prompt}]
        while True:
            response = await model.responses.create(
                model="gpt-5.5", input=messages, tools=tools
            )
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                print(response.output_text)
                return
            messages += response.output
            for call in calls:
                result = await office.call_tool(
                    call.name, json.loads(call.arguments), raise_on_error=False
                )
                texts = [block.text for block in result.content if block.type == "text"]
                messages.append(
                    {
                        "type": "function_call_output",
                        "call_id": call.call_id,
                        "output": "\n".join(texts),
                    }
                )


asyncio.run(main(" ".join(sys.argv[1:])))
