/**
 * A typical relay with stock Socket.IO: a map of members, and acks by callback. No version
 * gate, no validation, no limits, no metrics, no audit log.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, type Socket } from "socket.io";

type Join = Record<"name" | "role" | "office_id", string>;
type Ack = (...answer: unknown[]) => void;

const http = createServer();
const io = new Server(http, { maxHttpBufferSize: 16 * 2 ** 20 });
const seats = new Map<string, Socket>();
const seat = (office: string, name: string) => JSON.stringify([office, name]);

io.of("/smcp").on("connection", (socket) => {
  let office = "";
  socket.on(
    "server:join_office",
    ({ name, role, office_id }: Join, ack: Ack) => {
      office = office_id;
      seats.set(seat(office, name), socket);
      socket.to(office).emit("notify:enter_office", {
        office_id,
        [role]: name,
      });
      socket.join(office);
      ack(true, null);
    },
  );
  socket.on(
    "client:tool_call",
    (call: { computer: string; timeout: number }, ack: Ack) => {
      const computer = seats.get(seat(office, call.computer));
      if (computer === undefined) {
        return ack({ code: 404, message: "Not found" });
      }
      computer.timeout(call.timeout * 1000).emit(
        "client:tool_call",
        call,
        (error: Error | null, answer: unknown) =>
          ack(error ? { code: 408, message: error.message } : answer),
      );
    },
  );
});

http.listen(0, "127.0.0.1", () => {
  console.log(`listening on ${(http.address() as AddressInfo).port}`);
});
