/**
 * Measures what a request with the token of a sign-in costs at the gateway's door beside one with a key: all
 * else of a call is the same, so that the gateway of this answers at once.
 *
 * ```sh
 * deno run -A --config tests/deno.json bench/sign_in.ts
 * ```
 *
 * @module
 */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import process from "node:process";
import type { Gateway } from "../shared/gateway.ts";
import { GATEWAY_KEYS } from "../tests/support/mcp/gateway.ts";
import { SignedInServer } from "../tests/support/server/signed_in_server.ts";
import { quartilesText } from "./statistics.ts";

const ROUNDS = 21;
const REQUESTS = 1000;

/** Answers each request with nothing. */
const gateway: Gateway = {
  path: "/mcp",
  mayAnswer: () => true,
  answer: ({ outgoing }) => Promise.resolve(void outgoing.end("{}")),
  handle: () => Promise.resolve(new Response("{}")),
  freeSeat: () => Promise.resolve(undefined),
  seatFreed() {},
  forget() {},
  close: () => Promise.resolve(),
};

await using server = await SignedInServer.start({
  server: { limits: false, gateway: () => gateway },
});
const { as } = await server.token();
const WAYS = { key: { "x-api-key": GATEWAY_KEYS.ann }, token: as };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function send(headers: Readonly<Record<string, string>>): Promise<void> {
  const sent = request(server.gateway.url, {
    method: "POST",
    agent,
    headers: { ...headers, "content-length": "2" },
  });
  sent.end("{}");
  const [response]: IncomingMessage[] = await once(sent, "response");
  if (response?.statusCode !== 200) throw new Error("refused");
  response.resume();
  await once(response, "end");
}

/** Returns the µs of processor time that a request takes, those of its client included. */
async function measure(way: keyof typeof WAYS): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < REQUESTS; i++) await send(WAYS[way]);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / REQUESTS;
}

await measure("key");
await measure("token");
const key: number[] = [];
const token: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  key.push(await measure("key"));
  token.push(await measure("token"));
}
const more = token.map((cost, at) => cost - (key[at] ?? NaN));
console.log(`with a key: ${quartilesText(key)} (µs of CPU a request)`);
console.log(`with a token: ${quartilesText(token)}`);
console.log(`more with a token: ${quartilesText(more)}`);
agent.destroy();
