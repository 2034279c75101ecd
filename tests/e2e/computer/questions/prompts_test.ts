import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { ElicitRequest } from "../../../../computer/mod.ts";
import { ProtocolError } from "../../../../protocol/mod.ts";
import { conformanceHttp } from "../../../mcp/conformance/http.ts";
import { ASKING_URI } from "../../../mcp/conformance/server.ts";
import { startComputer } from "../../../support/computer/computer.ts";

const TIME = { timeout: 120_000 };

Deno.test(
  "what an MCP server asks for a prompt is answered by the person at the Computer, else by the Agent",
  TIME,
  async () => {
    await using served = await conformanceHttp();
    const servers = {
      conf: {
        type: "streamable" as const,
        server_parameters: { url: served.url },
      },
    };
    const name = "test_input_required_result_prompt";
    const rain = { action: "accept" as const, content: { context: "rain" } };
    const asked: ElicitRequest[] = [];
    await using withPerson = await startComputer(servers, {
      elicit: (request) => {
        asked.push(request);
        return rain;
      },
    });
    const got = await withPerson.office.agent.getPrompt("pc", "conf", name, {
      input: {},
    });
    assertStringIncludes(JSON.stringify(got.messages), "About: rain");
    assertEquals(
      asked.map(({ server, agent, tool }) => [server, agent, tool]),
      [["conf", "planner", undefined]],
    );
    await using alone = await startComputer(servers);
    const { agent } = alone.office;
    const question = await agent.getPrompt("pc", "conf", name, { input: {} });
    assertEquals(question.resultType, "input_required");
    assertEquals(Object.keys(question.inputRequests ?? {}), ["user_context"]);
    const state = String(question.requestState);
    const answered = await agent.getPrompt("pc", "conf", name, {
      input: { state, responses: { user_context: rain } },
    });
    assertStringIncludes(JSON.stringify(answered.messages), "About: rain");
    await assertRejects(
      () => agent.getPrompt("pc", "conf", name),
      ProtocolError,
      "the caller takes no questions",
    );
  },
);

Deno.test(
  "what an MCP server asks while a resource is read is not taken for the question of a call that runs",
  TIME,
  async () => {
    await using served = await conformanceHttp();
    await using pc = await startComputer({
      conf: {
        type: "streamable",
        server_parameters: { url: served.url },
        default_tool_meta: { auto_apply: true },
      },
    });
    const { agent } = pc.office;
    const tool = "test_input_required_result_elicitation";
    const question = await agent.callTool("pc", tool, {}, { input: {} });
    assertEquals(question.resultType, "input_required"); // the call goes on
    await assertRejects(
      () => agent.readResource("pc", "conf", ASKING_URI),
      ProtocolError,
      "no tool call is running",
    );
    const result = await agent.callTool("pc", tool, {}, {
      input: {
        state: String(question.requestState),
        responses: {
          user_name: { action: "accept", content: { name: "Ann" } },
        },
      },
    });
    assertStringIncludes(JSON.stringify(result.content), "Hello, Ann!");
  },
);
