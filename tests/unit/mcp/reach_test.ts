import type { AddressInfo } from "node:net";
import { assertEquals, assertRejects } from "@std/assert";
import { createServer, type RequestListener } from "node:http";
import { nodeFetch } from "../../../mcp/pipe/reach.ts";

/** Serves on a free port of loopback. */
async function serve(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/`),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

Deno.test("nodeFetch() sends a POST once, though its connection was used before and ends without an answer", async () => {
  const paths: (string | undefined)[] = [];
  const sockets = new Set<unknown>();
  await using server = await serve((request, response) => {
    paths.push(request.url);
    sockets.add(request.socket);
    request.resume();
    // Only now: the request is a server's own from its last byte on.
    request.on("end", () => {
      if (request.url === "/cut") request.socket.end();
      else response.end("ok");
    });
  });
  const fetch = nodeFetch();
  const post = async (path: string) => {
    const url = new URL(path, server.url);
    const response = await fetch(url, { method: "POST", body: "{}" });
    const text = await response.text();
    // The agent takes the connection back in a later turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return text;
  };
  assertEquals([await post("/1"), await post("/2")], ["ok", "ok"]);
  await assertRejects(() => post("/cut"), Error, "socket hang up");
  assertEquals(paths, ["/1", "/2", "/cut"]);
  assertEquals(sockets.size, 1);
});
