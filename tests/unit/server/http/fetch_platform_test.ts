import { assertEquals, assertThrows } from "@std/assert";
import { createFetchServer } from "../../../../server/fetch/mod.ts";
import { deno } from "../../../../server/fetch/deno.ts";

Deno.test("deno() gives an address, this machine for a Unix socket, and nothing for what is unknown", () => {
  const request = new Request("http://127.0.0.1/");
  const { addressOf } = deno();
  const peer = (transport: string, hostname?: string) =>
    addressOf(request, {
      remoteAddr: { transport, ...(hostname !== undefined && { hostname }) },
    });
  assertEquals(peer("tcp", "203.0.113.5"), "203.0.113.5");
  assertEquals(peer("unix"), "localhost");
  assertEquals(peer("unixpacket"), "localhost");
  assertEquals(peer("vsock"), "");
  assertEquals(addressOf(request, undefined), "");
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
      "which has no Deno.upgradeWebSocket: on Bun use bun()",
    );
  } finally {
    put(real);
  }
});
