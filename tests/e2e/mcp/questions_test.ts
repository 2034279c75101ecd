import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { conformanceHttp } from "../../mcp/conformance/server.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import {
  CLIENTS,
  ERAS,
  isCancelled,
  sdkClient,
  type SeenResult,
} from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/gateway.ts";

const textOf = ({ content }: SeenResult) => String(content[0]?.text);

/** The names in the answers that the fixture got. */
const namesIn = (result: SeenResult): string[] =>
  JSON.parse(textOf(result)).map(
    ({ content }: { content: { name: string } }) => content.name,
  );

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a client that supports forms answers the MCP server repeatedly, and gets the progress after each; another gets a failure that says so`, async () => {
    await using office = await serveOffice({
      servers: { fix: fixture({ only: ["ask", "ask_and_work"] }) },
    });
    const asked: string[] = [];
    await using client = await connect(office, (message) => {
      asked.push(message);
      return { action: "accept", content: { name: `Ann${asked.length}` } };
    });
    const result = await client.call("pc__ask", { rounds: 3 });
    assertEquals(namesIn(result), ["Ann1", "Ann2", "Ann3"]);
    assertEquals(asked, Array(3).fill("Who are you?"));

    const seen: number[] = [];
    const worked = await client.call("pc__ask_and_work", {}, {
      onprogress: ({ progress }) => seen.push(progress),
    });
    assertEquals(textOf(worked), "done");
    assertEquals([seen[0], seen.at(-1)], [1, 3]);
    assertEquals(seen, seen.toSorted());

    await using mute = await connect(office);
    const failed = await mute.call("pc__ask");
    assert(failed.isError);
    assertStringIncludes(textOf(failed), "does not support form elicitation");
  });

  Deno.test(`${kind}: over HTTP a question reaches the client of its call, while others run at the same MCP server`, async () => {
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
    assertEquals(namesIn(result), ["Ann", "Ann"]);
    assertEquals(strangers, []);
    end.abort();
    await over;
    await isCancelled(client.call("pc__slow_aborted"));
    await client.terminate();
    await stranger.terminate();
  });
}

for (const era of ERAS) {
  Deno.test(`${era}: an MCP server that asks for the context of its prompt is answered by the client`, async () => {
    await using served = await conformanceHttp();
    await using office = await serveOffice({
      servers: {
        conf: { type: "streamable", server_parameters: { url: served.url } },
      },
    });
    const name = "pc__test_input_required_result_prompt";
    const asked: string[] = [];
    await using client = await sdkClient(office, era, (message) => {
      asked.push(message);
      return { action: "accept", content: { context: "the weather" } };
    });
    const { messages } = await client.getPrompt({ name });
    assertStringIncludes(JSON.stringify(messages), "About: the weather");
    assertEquals(asked, ["What context should the prompt use?"]);
    await using mute = await sdkClient(office, era);
    const error = await assertRejects(() => mute.getPrompt({ name }));
    assertStringIncludes(String(error), "form elicitation");
  });
}
