/**
 * A balancer in a few lines, for the demo on a machine without HAProxy: it deals new sessions out in
 * turn, and sends all requests of a session to the Server whose name its id begins with.
 *
 * @module
 */
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestOptions,
} from "node:http";
import { type AddressInfo, connect } from "node:net";

/** A Server behind the balancer. */
export interface Behind {
  /** What the ids of its sessions begin with. */
  readonly name: string;
  readonly url: string;
  readonly isRunning: boolean;
}

/** Starts a balancer on a free port of this machine. */
export async function startBalancer(
  servers: readonly Behind[],
): Promise<{ readonly url: string } & AsyncDisposable> {
  let turn = 0;
  const targetOf = ({ url = "/", method, headers }: IncomingMessage) => {
    const [name] = /[?&]sid=([^.&]+)\./.exec(url)?.slice(1) ?? [];
    const living = servers.filter(({ isRunning }) => isRunning);
    const { hostname, port } = new URL(
      (living.find((server) => server.name === name) ??
        living[turn++ % living.length])?.url ?? "http://127.0.0.1:1",
    );
    return { hostname, port, path: url, method, headers } as RequestOptions;
  };
  const balancer = createServer((incoming, answer) => {
    const onward = request(targetOf(incoming), (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer).on("error", () => {});
    });
    onward.on("error", () => answer.destroy());
    incoming.pipe(onward);
  });
  balancer.on("upgrade", (incoming, socket) => {
    const { hostname, port } = targetOf(incoming);
    const onward = connect(Number(port), String(hostname));
    const lines = [`GET ${incoming.url} HTTP/1.1`];
    for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
      lines.push(`${incoming.rawHeaders[i]}: ${incoming.rawHeaders[i + 1]}`);
    }
    onward.write(`${lines.join("\r\n")}\r\n\r\n`);
    onward.on("error", () => socket.destroy()).on(
      "close",
      () => socket.destroy(),
    );
    socket.on("error", () => onward.destroy()).on(
      "close",
      () => onward.destroy(),
    );
    onward.pipe(socket).pipe(onward);
  });
  balancer.listen(0, "127.0.0.1");
  await new Promise((resolve) => balancer.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        balancer.close(() => resolve());
        balancer.closeAllConnections();
      }),
  };
}
