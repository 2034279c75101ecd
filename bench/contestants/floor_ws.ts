/** The same relay with `ws`, on which Socket.IO is based; for Deno and Node. */
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
// @ts-types="npm:@types/ws@^8.18.2"
import { type WebSocket, WebSocketServer } from "ws";
import { Groups } from "./groups.ts";

const groups = new Groups<WebSocket>();
const server = new WebSocketServer({
  host: "127.0.0.1",
  port: 0,
  perMessageDeflate: false,
  maxPayload: 16 * 2 ** 20,
});
server.on("listening", () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`);
});
server.on("connection", (socket: WebSocket, request: IncomingMessage) => {
  const group = groups.enter(request.url ?? "", socket);
  socket.on("message", (data: Uint8Array, binary: boolean) => {
    for (const other of group) {
      if (other !== socket) other.send(data, { binary });
    }
  });
});
