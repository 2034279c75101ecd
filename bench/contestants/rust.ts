import { join } from "node:path";
import type { Recipe } from "./running.ts";

const VERSION = "0.2.3";
/** Time limit for a build, which is done once. */
const BUILD_TIMEOUT_MS = 20 * 60_000;

/** The measured server. */
export const RUST_VERSION = `smcp-server-hyper ${VERSION}`;

/**
 * Runs the server of the Rust SDK, from crates.io.
 *
 * Its command refuses all clients, since it has no option for a secret. The same server without
 * authentication is an example of the crate, intended for tests.
 */
export async function rustServer(name: string): Promise<Recipe> {
  const home = Deno.env.get("HOME") ?? ".";
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? join(home, ".cache");
  const root = join(cache, "a2c-smcp-sdk", `rust-${VERSION}`);
  const command = join(root, "bin", "uat_test_server");
  if (!await isThere(command)) {
    console.error(`Building ${RUST_VERSION} into ${root}, once`);
    await build(root);
  }
  return {
    name,
    command,
    args: ["127.0.0.1:0"],
    env: { RUST_LOG: "warn,smcp_server_hyper=info" },
    reencodes: true,
  };
}

async function build(root: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("cargo", {
    args: [
      "install",
      `smcp-server-hyper@${VERSION}`,
      ...["--example", "uat_test_server"],
      ...["--locked", "--root", root],
    ],
    stdin: "null",
    signal: AbortSignal.timeout(BUILD_TIMEOUT_MS),
  }).output();
  if (success) return;
  const why = new TextDecoder().decode(stderr).trim().split("\n").slice(-3);
  throw new Error(`Cannot build ${RUST_VERSION}: ${why.join(" ")}`);
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
