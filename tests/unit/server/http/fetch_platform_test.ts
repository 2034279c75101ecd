import { assertEquals, assertThrows } from "@std/assert";
import { createFetchServer } from "../../../../server/fetch/mod.ts";
import { peerOf } from "../../../../server/fetch/fetch_server.ts";

Deno.test("peerOf() gives an address, this machine for a Unix socket, and nothing for what is unknown", () => {
  const peer = (transport: string, hostname?: string) =>
    peerOf({
      remoteAddr: { transport, ...(hostname !== undefined && { hostname }) },
    });
  assertEquals(peer("tcp", "203.0.113.5"), "203.0.113.5");
  assertEquals(peer("unix"), "localhost");
  assertEquals(peer("unixpacket"), "localhost");
  assertEquals(peer("vsock"), "");
  assertEquals(peerOf(undefined), "");
});

Deno.test("createFetchServer() says what to use where there is no Deno.upgradeWebSocket", () => {
  const real = Deno.upgradeWebSocket;
  const put = (value: unknown) =>
    Object.defineProperty(Deno, "upgradeWebSocket", { value });
  put(undefined);
  try {
    assertThrows(
      () => createFetchServer(),
      TypeError,
      "it has no Deno.upgradeWebSocket, as Deno and Deno Deploy have; on Node and Bun use createSmcpServer()",
    );
  } finally {
    put(real);
  }
});
