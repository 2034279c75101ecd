import { assertEquals, assertRejects } from "@std/assert";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";

const KEY = "pipe-test-key-0123456789";

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: takes its key as the other commands do, and says what is missing`, async () => {
    const auth = { api_key: KEY };
    await using running = await startComputer(
      { fix: fixtureHere() },
      { auth },
      {
        agent: { auth },
        server: {
          gateway: mcpGateway(),
          authenticator: {
            authenticate: ({ headers, auth }) =>
              Promise.resolve(
                headers["x-api-key"] === KEY || auth.api_key === KEY
                  ? { principal: "ann" }
                  : { refused: "unknown API key" },
              ),
          },
        },
      },
    );
    const { office } = running;
    await office.agent.leave();
    const command = pipeCommand(office.url);
    await assertRejects(
      () => connect(command),
      Error,
      kind === "v2, 2026" // it tells of its own failure alone
        ? "Version negotiation failed"
        : "give a key that the Server knows with --api-key (SMCP_API_KEY)",
    );
    const env = { SMCP_API_KEY: KEY };
    await using client = await connect({ ...command, env });
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);
  });
}
