import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { startBoundedServer } from "../support/server/bounded_server.ts";
import {
  clientFrame,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";

Deno.test({
  name: "40 connections that only send pings delay no other client's calls",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  await using stack = new AsyncDisposableStack();
  const port = Number(new URL(server.url).port);
  const pings = Buffer.concat(
    Array(10_000).fill(clientFrame(OP.ping, "")),
  );
  const raws: RawWebSocket[] = [];
  for (let i = 0; i < 40; i++) {
    raws.push(stack.use(await RawWebSocket.connect(port)));
  }
  const codes = await Promise.all(raws.map(async (raw) => {
    for (let i = 0; i < 50 && !raw.over; i++) raw.write(pings);
    return await raw.closed;
  }));
  // 1006 where what was still being sent broke TCP before the close frame was read.
  assertEquals(codes.filter((code) => code !== 1008 && code !== 1006), []);
  await server.unharmed();
});
