import { assertEquals } from "@std/assert";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { newAuthority, newCertificate } from "../../../support/certificates.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";
import { OFFICE } from "../../../support/office.ts";
import { scratch } from "../../../support/scratch.ts";

const authority = await newAuthority("root");
const clients = await newAuthority("clients");
const laptop = await newCertificate("laptop", clients);

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: over wss, with the authority and the certificate of its own flags`, async () => {
    await using folder = await scratch();
    await using server = createSmcpServer({ gateway: mcpGateway() });
    const { url } = await server.listen({
      tls: {
        ...await newCertificate("server", authority),
        clientCa: clients.cert,
      },
    });
    await using computer = new SmcpComputer({
      url,
      name: "pc",
      tls: { ca: authority.cert, ...laptop },
      servers: { fix: fixtureHere() },
      confirm: () => "once",
    });
    await computer.connect();
    await computer.serversSettled();
    await computer.join(OFFICE);
    const flags: string[] = [];
    for (
      const [name, text] of Object.entries({ ca: authority.cert, ...laptop })
    ) {
      const file = `${folder.path}/${name}.pem`;
      await Deno.writeTextFile(file, text);
      flags.push(`--tls-${name}`, file);
    }
    const secure = url.replace(/^http/, "ws");
    await using client = await connect(pipeCommand(secure, ...flags));
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);
    await client.terminate();
    await client.close();
  });
}
