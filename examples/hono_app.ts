/**
 * The Server inside an existing Hono app, with its pages, its middleware and its HTTP server, and
 * the offices at `/smcp/`.
 *
 * ```sh
 * deno run --allow-net --allow-env examples/hono_app.ts
 * ```
 *
 * @module
 */
import { createServer } from "node:http";
import { once } from "node:events";
import { getRequestListener } from "@hono/node-server";
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { Hono } from "hono";

const smcp = createSmcpServer();

const app = new Hono();
app.use(async (c, next) => {
  await next();
  console.log(`${c.req.method} ${c.req.path}`);
});
app.get("/", (c) => c.text(`${smcp.stats.members} members are here`));
app.route("/", smcp.app);

const http = createServer(getRequestListener(app.fetch));
smcp.attach(http); // WebSocket upgrades bypass Hono
http.listen(0, "127.0.0.1");
await once(http, "listening");
const address = http.address();
const port = typeof address === "object" ? address?.port : undefined;
const url = `http://127.0.0.1:${port}`;

const agent = new SmcpAgent({ url, name: "visitor" });
await agent.connect();
await agent.join("lobby");
console.log(await (await fetch(url)).text());
await agent.close();

await smcp.close(); // closes the offices, not your HTTP server
http.close();
http.closeAllConnections();
