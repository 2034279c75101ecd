import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { type McpCall, officeMcp } from "../../../mcp/mod.ts";
import {
  GET_DESKTOP_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_SKILLS_EVENT,
  READ_RESOURCE_EVENT,
} from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { captureLog } from "../../support/log_capture.ts";
import {
  GATEWAY_KEYS,
  gatewayKeys,
  type GatewaySetup,
  startGateway,
} from "../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";
import { httpTransport } from "../../support/mcp/http_transport.ts";

const { ann, bob, computer } = GATEWAY_KEYS;

const SECURED: GatewaySetup = {
  server: { authenticator: gatewayKeys() },
  computer: { auth: { api_key: computer } },
};

const NOTE = `a2c://pc/resource/notes/${
  encodeURIComponent("note://me:hunter2@north/1?sig=hunter2#hunter2")
}`;

/** Has one desktop, any resource, and a prompt. */
const reads: NonNullable<GatewaySetup["answer"]> = (event) => {
  const req_id = "1";
  switch (event) {
    case GET_DESKTOP_EVENT:
      return { desktops: ["window://w/1\n\nhello"], req_id };
    case READ_RESOURCE_EVENT:
      return { contents: [{ uri: "note://1", text: "hello" }], req_id };
    case GET_SKILLS_EVENT:
      return { skills: [], req_id };
    case GET_PROMPTS_EVENT:
      return { prompts: [{ name: "greet", mcp_server: "notes" }], req_id };
    case GET_PROMPT_EVENT:
      return {
        messages: [{ role: "user", content: { type: "text", text: "hello" } }],
        req_id,
      };
  }
  throw new Error(`${event} is not of this Computer`);
};

const ERAS = [["2025", "legacy"], ["2026", { pin: "2026-07-28" }]] as const;

for (const [era, mode] of ERAS) {
  Deno.test(`${era}: the audit log says who reads, what, and with what program`, async () => {
    await using served = await startGateway({ ...SECURED, answer: reads });
    using log = captureLog();
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    const transport = httpTransport(served.url, {
      requestInit: { headers: { "x-api-key": ann } },
    });
    await client.connect(transport);
    await client.readResource({ uri: "a2c://pc/desktop" });
    await client.readResource({ uri: NOTE });
    await client.getPrompt({ name: "pc__greet" });
    await transport.terminateSession();
    await client.close();
    const common = {
      event: "read",
      office: "north",
      agent: "mcp",
      principal: "key:ann",
      client: "test 1.0.0",
      computer: "pc",
      outcome: "ok",
    };
    const lines = log.audit.filter(({ event }) => event === "read");
    assertEquals(
      lines.map(({ ms, req_id, ...rest }) => {
        assertEquals([Number.isInteger(ms), String(req_id).length], [true, 36]);
        return rest;
      }),
      [
        { ...common, request: GET_DESKTOP_EVENT },
        {
          ...common,
          request: READ_RESOURCE_EVENT,
          mcp_server: "notes",
          uri: "note://north/1",
        },
        {
          ...common,
          request: GET_PROMPT_EVENT,
          mcp_server: "notes",
          prompt: "greet",
        },
      ],
    );
    assertEquals(/hunter2|hello/.test(log.text), false);
  });

  Deno.test(`${era}: each read and each prompt is admitted with who asks, and refused with what that throws`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const asked: McpCall[] = [];
    await using mcp = officeMcp(running.office.agent, {
      desktopTools: true,
      admit: (call) => {
        asked.push(call);
        if (asked.length > 2) throw new Error("Too many reads of ann");
      },
    });
    const client = new Client({ name: "test", version: "1.0.0" }, {
      versionNegotiation: { mode },
    });
    const transport = httpTransport(
      new URL("http://office/mcp"),
      {
        fetch: (input, init) =>
          mcp.handle(new Request(input, init), { principal: "ann" }),
      },
    );
    await client.connect(transport);
    const desktop = "a2c://pc/desktop";
    await client.readResource({ uri: desktop });
    const shown = { name: "desktop", arguments: { computer: "pc" } };
    await client.callTool(shown);
    let message = "";
    try {
      await client.readResource({ uri: desktop });
    } catch (error) {
      message = String(error);
    }
    assertStringIncludes(message, "Too many reads of ann");
    assertEquals((await client.callTool(shown)).isError, true);
    const common = {
      computer: "pc",
      principal: "ann",
      client: { name: "test", version: "1.0.0" },
    };
    assertEquals(
      asked.map(({ reqId: _, ...rest }) => rest),
      [{ uri: desktop }, { tool: "desktop" }, { uri: desktop }, {
        tool: "desktop",
      }].map((subject) => ({ ...common, ...subject })),
    );
    await transport.terminateSession();
    await client.close();
  });
}

Deno.test("reads beyond the limits of the seat wait for their turn as calls do, whoever asks", async () => {
  let [running, most] = [0, 0];
  await using served = await startGateway({
    ...SECURED,
    server: {
      ...SECURED.server,
      limits: { eventsPerSecond: 52, callsPerAgent: 30 },
    },
    answer: async (event, payload) => {
      // Lists do not wait, and are asked for once.
      const isList = event === GET_SKILLS_EVENT || event === GET_PROMPTS_EVENT;
      if (isList) return await reads(event, payload);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 0));
      running--;
      return await reads(event, payload);
    },
  });
  using log = captureLog();
  const asked = Array.from(
    { length: 56 },
    (_, at) =>
      at % 2
        ? modernRequest("resources/read", { uri: NOTE })
        : modernRequest("prompts/get", { name: "pc__greet" }),
  );
  const answers = await Promise.all(
    asked.map(({ headers, body }, at) =>
      post(served.url, {
        body,
        headers: { ...headers, "x-api-key": at % 4 < 2 ? ann : bob },
      })
    ),
  );
  for (const { status, body } of answers) {
    assertEquals(status, 200, body);
    assertStringIncludes(body, "hello");
  }
  assert(most <= 27, `${most} at once`);
  const hits = log.audit.filter(({ event }) => event === "limit_hit");
  assertEquals(hits, []); // the seat itself never was refused
});
