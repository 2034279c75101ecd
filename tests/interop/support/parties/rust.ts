import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import { startPuppet } from "../puppet.ts";
import { AGENT, type AgentParty, OFFICE, type ServerParty } from "./party.ts";
import { puppetAgent } from "./python.ts";

const CRATE = fileURLToPath(new URL("../../rust", import.meta.url));
const TARGET = fileURLToPath(new URL("../../.venv/rust", import.meta.url));

/** Builds the peer from the crates of the Rust SDK, which takes minutes the first time. */
async function rustPeer(): Promise<string> {
  const { success, stderr } = await new Deno.Command("cargo", {
    args: ["build", "--locked", "--quiet"],
    cwd: CRATE,
    env: { CARGO_TARGET_DIR: TARGET },
  }).output();
  if (success) return `${TARGET}/debug/interop-peer`;
  throw new Error(
    `Cannot build the Rust peer:\n${new TextDecoder().decode(stderr)}`,
  );
}

/** The Server of the crate `smcp-server-hyper`, as a process. */
export async function rustServer(): Promise<ServerParty> {
  const child = start(await rustPeer(), ["server"]);
  const [, address = ""] = await child.line(/Server listening on (\S+)/);
  return {
    url: `http://${address}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** The Agent of the crate `smcp-agent`, as a process. */
export async function rustAgent(url: string): Promise<AgentParty> {
  const puppet = await startPuppet([await rustPeer(), "agent", AGENT, OFFICE]);
  const agent = puppetAgent(puppet, url);
  // The SDK tells nobody of a lost connection: its user connects anew.
  return { ...agent, rejoin: () => agent.join() };
}
