import { assertEquals, assertMatch } from "@std/assert";
import { rawHttp, upgradeHead } from "../support/wire/raw_http.ts";
import {
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

const HEAD = upgradeHead(webSocketTarget());

const without = (name: string): string[] =>
  HEAD.filter((line) => !line.startsWith(`${name}:`));

const replaced = (name: string, value: string): string[] => [
  ...without(name),
  `${name}: ${value}`,
];

onEachEngine(
  "the accept key is that of RFC 6455 §1.3, and no extension is negotiated (§4.2.2)",
  async (start) => {
    await using server = await start();
    const head = [
      ...HEAD,
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
    ];
    const { status, headers } = await rawHttp(server.port, head);
    assertEquals(status, 101);
    assertEquals(
      headers["sec-websocket-accept"],
      "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    );
    assertEquals(headers["upgrade"]?.toLowerCase(), "websocket");
    assertEquals(headers["connection"]?.toLowerCase(), "upgrade");
    assertEquals(headers["sec-websocket-extensions"], undefined);
    assertEquals(headers["sec-websocket-protocol"], undefined);
  },
);

onEachEngine(
  "one of the client's subprotocols is selected (§4.2.2)",
  async (start) => {
    await using server = await start();
    const head = [...HEAD, "Sec-WebSocket-Protocol: one, two"];
    const { status, headers } = await rawHttp(server.port, head);
    assertEquals([status, headers["sec-websocket-protocol"]], [101, "one"]);
  },
);

onEachEngine(
  "names of headers and of the protocol may be in any case (§4.2.1)",
  async (start) => {
    await using server = await start();
    const head = [
      ...without("Upgrade").filter((line) => !line.startsWith("Connection")),
      "UPGRADE: WebSocket",
      "connection: keep-alive, uPGRADE",
    ];
    assertEquals((await rawHttp(server.port, head)).status, 101);
  },
);

onEachEngine(
  "an invalid handshake is refused, and the connection closed (§4.2.1)",
  async (start) => {
    await using server = await start();
    for (
      const head of [
        without("Sec-WebSocket-Key"),
        replaced("Sec-WebSocket-Key", ""),
        replaced("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ"),
        replaced("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==="),
        without("Sec-WebSocket-Version"),
        replaced("Sec-WebSocket-Version", "12"),
        replaced("Upgrade", "h2c"),
        [HEAD[0]!.replace("GET", "POST"), ...HEAD.slice(1)],
      ]
    ) {
      const { status } = await rawHttp(server.port, head);
      assertMatch(String(status), /^4\d\d$/, head.join("\n"));
    }
  },
);

onEachEngine(
  "frames of the server have no mask and no reserved bits, and are complete (§5.1)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.open(server.port);
    const { fin, rsv, masked, opcode } = await raw.frame();
    assertEquals({ fin, rsv, masked, opcode }, {
      fin: true,
      rsv: 0,
      masked: false,
      opcode: 1,
    });
  },
);
