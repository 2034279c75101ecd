/**
 * A proxy between an MCP client and a server over HTTP, which passes messages on and hides the server's
 * address.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A running proxy. */
export interface MessageProxy extends AsyncDisposable {
  /** Its address. */
  readonly url: string;
}

/**
 * Starts it.
 *
 * @param edit changes the text of each request and of each part of an answer; default: nothing
 */
export async function startMessageProxy(
  target: URL,
  edit = (text: string): string => text,
): Promise<MessageProxy> {
  const server = createServer(async (incoming, outgoing) => {
    const body = edit(await textOf(incoming));
    const { method = "GET", headers: { host: _, ...headers } } = incoming;
    const length = Buffer.byteLength(body);
    const sent = request(target, {
      method,
      headers: { ...headers, ...(length > 0 && { "content-length": length }) },
      agent: false,
    }, (answer) => {
      const { "content-length": __, ...kept } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 500, kept);
      outgoing.flushHeaders();
      answer.setEncoding("utf8");
      answer.on("data", (text) => outgoing.write(edit(text)));
      answer.on("end", () => outgoing.end());
      answer.on("error", () => outgoing.destroy());
    });
    outgoing.on("close", () => sent.destroy());
    sent.on("error", () => outgoing.destroy());
    sent.end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = "";
  message.setEncoding("utf8");
  for await (const part of message) text += part;
  return text;
}
