import { assertEquals, assertRejects } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { ProtocolVersionError } from "../../../protocol/mod.ts";
import { versionRefusingServer } from "../../support/wire/version_refusing_server.ts";

for (const explains of [true, false]) {
  const outcome = explains
    ? "is asked for over polling"
    : "stays unknown where polling has none";
  Deno.test(`close code 4900 ends the attempt; its reason ${outcome} (0.4 §1.4)`, async () => {
    await using server = await versionRefusingServer(
      () => explains ? "0.9.0" : undefined,
      { closeCode: 4900 },
    );
    await using agent = new SmcpAgent({
      url: server.url,
      name: "agent",
      transports: ["websocket"],
    });
    const error = await assertRejects(
      () => agent.connect(),
      ProtocolVersionError,
    );
    assertEquals([error.serverVersion, error.clientVersion], [
      explains ? "0.9.0" : "unknown",
      "0.2.0",
    ]);
    assertEquals(agent.state, "closed");
    assertEquals(server.versions, ["0.2.0", "0.2.0"]);
  });
}
