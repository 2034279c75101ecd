import { UsageError } from "../../cli/run.ts";
import { ProtocolError } from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";

/** Returns the name of an MCP server for people, with its id where that is something else. */
export const labelOf = (id: string, name: string = id): string =>
  id === name ? id : `${name} (${id})`;

/**
 * Returns how requests name the MCP server that a person typed: by its `bundle_id`, or its name if
 * no other one of the Computer has that (0.4 §3.6).
 *
 * @throws {UsageError} that lists the servers of that name
 */
export async function serverMeant(
  agent: SmcpAgent,
  computer: string,
  typed: string,
  signal: AbortSignal,
): Promise<string> {
  const { servers } = await agent.getConfig(computer, { signal })
    .catch((error) => {
      if (error instanceof ProtocolError) return { servers: {} }; // asked for as it is typed
      throw error;
    });
  const named = Object.entries(servers)
    .filter(([, { name }]) => name === typed).map(([id]) => id);
  if (named.length < 2) return named[0] ?? typed;
  throw new UsageError(
    `"${typed}" is the name of ${named.length} MCP servers of ${computer}; say which by its bundle_id: ${
      named.map((id) => labelOf(id, typed)).join(", ")
    }`,
  );
}
