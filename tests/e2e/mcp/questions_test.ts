import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Client } from "@modelcontextprotocol/client";
import { conformanceHttp } from "../../mcp/conformance/http.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import { isCancelled } from "../../support/mcp/cancelled.ts";
import { CLIENTS, type SeenResult } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { httpTransport } from "../../support/mcp/http_transport.ts";

const TIME = { timeout: 120_000 };

const ERAS = [["2025", "legacy"], ["2026", { pin: "2026-07-28" }]] as const;

const asking = () =>
  serveOffice({
    servers: {
      fix: fixture({ only: ["ask"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    },
  });

const textOf = ({ content }: SeenResult) => String(content[0]?.text);

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(
    `${kind}: a client that can be asked answers the MCP server, again and again`,
    TIME,
    async () => {
      await using office = await asking();
      const asked: string[] = [];
      await using client = await connect(office, (message) => {
        asked.push(message);
        return { action: "accept", content: { name: `Ann${asked.length}` } };
      });
      const result = await client.call("pc__ask", { rounds: 3 });
      assertEquals(
        JSON.parse(textOf(result)).map(
          ({ content }: { content: { name: string } }) => content.name,
        ),
        ["Ann1", "Ann2", "Ann3"],
      );
      assertEquals(asked, Array(3).fill("Who are you?"));
    },
  );

  Deno.test(
    `${kind}: a call tells how far it is after a question too`,
    TIME,
    async () => {
      await using office = await serveOffice({
        servers: { fix: fixture({ only: ["ask_and_work"] }) },
      });
      await using client = await connect(office, () => ({
        action: "accept",
        content: {},
      }));
      const seen: number[] = [];
      const result = await client.call("pc__ask_and_work", {}, {
        onprogress: ({ progress }) => seen.push(progress),
      });
      assertEquals(textOf(result), "done");
      assertEquals([seen[0], seen.at(-1)], [1, 3]);
      assertEquals(seen, seen.toSorted());
    },
  );

  Deno.test(
    `${kind}: over HTTP a question reaches the client of its call, while others run at the same MCP server`,
    TIME,
    async () => {
      await using server = await startHttpFixture("streamable", {
        only: ["ask", "slow", "slow_began", "slow_aborted"],
      });
      await using office = await serveOffice({
        servers: {
          fix: { type: "streamable", server_parameters: { url: server.url } },
        },
      });
      const strangers: string[] = [];
      await using stranger = await connect(office, (message) => {
        strangers.push(message);
        return { action: "accept", content: { name: "Eve" } };
      });
      await using client = await connect(office, () => ({
        action: "accept",
        content: { name: "Ann" },
      }));
      const end = new AbortController();
      const running = stranger.call("pc__slow", {}, { signal: end.signal });
      const over = assertRejects(() => running);
      await client.call("pc__slow_began");
      const result = await client.call("pc__ask", { rounds: 2 });
      assertEquals(
        JSON.parse(textOf(result)).map(
          ({ content }: { content: { name: string } }) => content.name,
        ),
        ["Ann", "Ann"],
      );
      assertEquals(strangers, []);
      end.abort();
      await over;
      await isCancelled(client.call("pc__slow_aborted"));
      await client.terminate();
      await stranger.terminate();
    },
  );

  Deno.test(
    `${kind}: a client that cannot be asked gets a failure that says so`,
    TIME,
    async () => {
      await using office = await asking();
      await using client = await connect(office);
      const result = await client.call("pc__ask");
      assert(result.isError);
      assertStringIncludes(textOf(result), "does not support form elicitation");
    },
  );

  Deno.test(
    `${kind}: server-everything's form reaches the client`,
    TIME,
    async () => {
      await using office = await serveOffice({
        servers: {
          all: { ...everything(), default_tool_meta: { auto_apply: true } },
        },
      });
      await using client = await connect(
        office,
        () => ({ action: "accept", content: { name: "Ann", check: true } }),
      );
      const result = await client.call("pc__trigger-elicitation-request");
      assertStringIncludes(JSON.stringify(result.content), "Ann");
    },
  );
}

for (const [era, mode] of ERAS) {
  Deno.test(
    `${era}: an MCP server that asks for what its prompt needs is answered by the client`,
    TIME,
    async () => {
      await using served = await conformanceHttp();
      await using office = await serveOffice({
        servers: {
          conf: { type: "streamable", server_parameters: { url: served.url } },
        },
      });
      const open = async (canFill: boolean) => {
        const client = new Client({ name: "test", version: "1.0.0" }, {
          versionNegotiation: { mode },
          capabilities: canFill ? { elicitation: { form: {} } } : {},
        });
        await client.connect(httpTransport(office.url));
        return client;
      };
      const name = "pc__test_input_required_result_prompt";
      const mute = await open(false);
      const client = await open(true);
      client.setRequestHandler("elicitation/create", ({ params }) => {
        assertStringIncludes(params.message, "What context");
        return { action: "accept", content: { context: "the weather" } };
      });
      try {
        const { messages } = await client.getPrompt({ name });
        assertStringIncludes(JSON.stringify(messages), "About: the weather");
        const error = await assertRejects(() => mute.getPrompt({ name }));
        assertStringIncludes(String(error), "form elicitation");
      } finally {
        await client.close();
        await mute.close();
      }
    },
  );
}
