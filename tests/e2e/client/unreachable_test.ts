import { assertEquals, assertRejects } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { explainFailure } from "../../../cli/explain_failure.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startProxy } from "../../support/proxy.ts";

const PAGE = "<!DOCTYPE html><html><body>Bad gateway of nginx</body></html>";

/** A web server that is not an A2C-SMCP Server. */
async function startWeb(status: number) {
  const web = createServer((_, response) => {
    response.writeHead(status, { "Content-Type": "text/html" }).end(PAGE);
  });
  await new Promise<void>((resolve) =>
    web.listen(0, "127.0.0.1", () => resolve())
  );
  return {
    url: `http://127.0.0.1:${(web.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => {
      web.closeAllConnections();
      return new Promise<void>((resolve) => web.close(() => resolve()));
    },
  };
}

Deno.test("a connection that is lost in its handshake fails connect(), which can be called again", async () => {
  await using server = createSmcpServer();
  await using proxy = await startProxy((await server.listen()).url);
  let asked = 0;
  await using agent = new SmcpAgent({
    url: proxy.url,
    name: "planner",
    transports: ["websocket"],
    auth: () => {
      if (asked++ > 0) return {};
      proxy.cut();
      return new Promise(() => {});
    },
  });
  const error = await assertRejects(() => agent.connect(), ConnectionError);
  assertEquals([error.code, agent.state], ["unreachable", "closed"]);
  await agent.connect();
  assertEquals(agent.state, "connected");
});

const NO_SERVER =
  /: what answers there is no A2C-SMCP server( \(HTTP \d+\))?; correct --url, or the path with --path$/;
const PROXY = /: HTTP 50\d, of a proxy that does not reach its Server$/;

Deno.test("another web server, and a proxy without a Server, are reported as such", async () => {
  const rows: [status: number, says: RegExp][] = [
    [200, NO_SERVER],
    [401, NO_SERVER],
    [404, NO_SERVER],
    [500, NO_SERVER],
    [502, PROXY],
    [503, PROXY],
  ];
  for (const [status, says] of rows) {
    await using web = await startWeb(status);
    await using agent = new SmcpAgent({ url: web.url, name: "planner" });
    const error = await assertRejects(() => agent.connect(), ConnectionError);
    assertEquals(error.code, "unreachable");
    const line = explainFailure(error);
    assertEquals(says.test(line), true, `${status}: ${line}`);
    for (const text of [line, error.message]) {
      assertEquals(/xhr|nginx|<|\n/.test(text), false, text);
    }
  }
});
