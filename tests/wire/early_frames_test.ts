import { Buffer } from "node:buffer";
import { assertMatch } from "@std/assert";
import {
  clientFrame,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

const CONNECT = clientFrame(OP.text, "40/smcp,");

onEachEngine(
  "frames in the segment of the upgrade request are read",
  async (start) => {
    await using server = await start();
    for (let i = 0; i < 40; i++) {
      await using raw = await RawWebSocket.open(server.port, {
        early: Buffer.concat([
          CONNECT,
          clientFrame(OP.ping, "early"),
        ]),
      });
      assertMatch(await raw.text("40/smcp,"), /"sid"/);
    }
  },
);
