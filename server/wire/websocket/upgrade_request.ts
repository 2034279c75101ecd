import type { IncomingHttpHeaders } from "node:http";

/** A key: 16 bytes in Base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Returns whether a request asks for a WebSocket as RFC 6455 §4.2.1 says. */
export function asksForWebSocket(
  method: string | undefined,
  headers: IncomingHttpHeaders,
): boolean {
  const key = headers["sec-websocket-key"];
  return method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    key !== undefined && KEY.test(key) &&
    headers["sec-websocket-version"] === "13";
}

/** Returns the first valid subprotocol; browsers expect one of those that they offered. */
export const firstProtocol = (
  offered: string | undefined,
): string | undefined =>
  offered?.split(",").map((each) => each.trim()).find((each) =>
    TOKEN.test(each)
  );
