/** This package behind `Bun.serve`, with the limits of the command that is measured. */
import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { bun, type BunWebSocketHandler } from "@a2c-smcp/sdk/server/bun";

declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly fetch: typeof smcp.fetch;
    readonly websocket: BunWebSocketHandler;
  }): { readonly port: number };
};

const { websocket, ...adapter } = bun();
const smcp = createSmcpServer({
  adapter,
  limits: { eventsPerSecond: 1_000_000 },
});
const options = { hostname: "127.0.0.1", port: 0, websocket };
const { port } = Bun.serve({ ...options, fetch: smcp.fetch });
console.log(`listening on ${port}`);
