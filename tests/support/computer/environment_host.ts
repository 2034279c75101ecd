/**
 * A program that prints, as JSON by name, the environment and the directory that MCP servers get. It is a process
 * of its own: the environment of the tests is that of all of them at a time.
 *
 * @module
 */
import { startHost, textOf } from "./host.ts";

/** What an MCP server gets. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
}

if (import.meta.main) {
  const servers = JSON.parse(Deno.args[0] ?? "");
  await using host = await startHost(servers);
  const seen: Record<string, Surroundings> = {};
  for (const name of Object.keys(servers)) {
    seen[name] = {
      environment: JSON.parse(await textOf(host, name, "environment")),
      directory: await textOf(host, name, "directory"),
    };
  }
  console.log(JSON.stringify(seen));
}
