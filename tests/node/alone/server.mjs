import assert from "node:assert/strict";
import { createSmcpServer } from "@a2c-smcp/sdk/server";

const server = createSmcpServer();
const { url } = await server.listen({ port: 0 });
assert.equal((await fetch(`${url}/health`)).status, 200);
await server.close();
console.log("works");
