/**
 * Sign-in in Cloudflare's own runtime: what the registry's object keeps, and a program that is let in.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { AskingStore } from "../../../server/workers/sign_in.ts";
import { joinComputer, OFFICE } from "../../support/edge/edge_office.ts";
import {
  endWorkers,
  LEAVES_TIMER,
  startWorker,
  type Workerd,
} from "../../support/edge/workerd.ts";
import {
  newGrant,
  newHash,
  type Stores,
  testStores,
} from "../../support/server/sign_in_stores.ts";

Deno.test.afterAll(endWorkers);

const SECRET = "ab".repeat(32);
const KEYS = [
  { id: "ann", key: "ann-key", roles: ["agent" as const] },
  { id: "pc", key: "computer-key", roles: ["computer" as const] },
];

/** Starts a Server with a sign-in whose public URL is its own. */
async function startSignIn(single = false): Promise<Workerd> {
  const server = await startWorker({ OPTIONS: { insecure: true } });
  const OPTIONS = { publicUrl: server.url, single };
  await server.deploy({ OPTIONS, KEYS, MCP: true, SIGN_IN: SECRET });
  return server;
}

const storeOf = (server: Workerd, maxAgeMs?: number) =>
  new AskingStore((message) =>
    fetch(`${server.url}/.test/sign-in`, {
      method: "POST",
      body: JSON.stringify(message),
    }), maxAgeMs);

async function onWorkers(): Promise<Stores> {
  const server = await startSignIn();
  const nodes = [storeOf(server, 0), storeOf(server, 0)] as const;
  return {
    nodes,
    hasNoSecret: true,
    async restart() {
      await server.end("office=registry");
      return nodes;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

testStores("a Durable Object", onWorkers);
