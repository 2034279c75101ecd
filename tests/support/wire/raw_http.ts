import { connect } from "node:net";

/** An HTTP answer, as its bytes said. */
export interface RawAnswer {
  /** The status code. */
  status: number;
  /** Header names in lower case. */
  headers: Record<string, string>;
  /** Everything behind the headers. */
  body: string;
}

/**
 * Sends bytes over TCP and reads the answer until the server closes, or until its body is complete.
 *
 * @param port of the server on loopback
 * @param head request line and headers, each line without its end
 * @param body sent behind them
 */
export function rawHttp(
  port: number,
  head: readonly string[],
  body = "",
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1");
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      text += chunk;
      const answer = read(text);
      if (answer && answer.complete) {
        resolve(answer);
        socket.destroy();
      }
    });
    socket.on("close", () => {
      const answer = read(text);
      if (answer) resolve(answer);
      else reject(new Error("The server closed without an answer"));
    });
    socket.write([...head, "", body].join("\r\n"));
  });
}

/** The head of a WebSocket upgrade. */
export const upgradeHead = (target: string): string[] => [
  `GET ${target} HTTP/1.1`,
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

function read(text: string): (RawAnswer & { complete: boolean }) | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [line = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(lines.map((header) => {
    const colon = header.indexOf(":");
    return [
      header.slice(0, colon).toLowerCase(),
      header.slice(colon + 1).trim(),
    ];
  }));
  const status = Number(line.split(" ")[1]);
  const body = text.slice(end + 4);
  const complete = status === 101 ||
    body.length >= Number(headers["content-length"] ?? Infinity);
  return { status, headers, body, complete };
}
