// With @a2c-smcp/server alone: a Server that asks for tokens, and its other entrypoints.
import {
  type Authenticator,
  createSmcpServer,
  jwt,
  type SmcpServerOptions,
} from "@a2c-smcp/server";
import { joinCluster } from "@a2c-smcp/server/cluster";
import { createFetchServer } from "@a2c-smcp/server/fetch";

const authenticator: Authenticator = jwt({ key: { secret: "s".repeat(32) } });
const verdict = await authenticator.authenticate({
  headers: { authorization: "Bearer a.b.c" },
  auth: {},
  address: "127.0.0.1",
});
const options: SmcpServerOptions = { authenticator };
await using server = createSmcpServer(options);
const { url } = await server.listen({ port: 0 });
const { status } = await fetch(`${url}/health`);
const works = status === 200 && "refused" in verdict &&
  [joinCluster, createFetchServer].every((it) => typeof it === "function");
console.log(works ? "works" : [status, verdict]);
