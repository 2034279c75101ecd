import {
  type MCPServerConfig,
  mcpServerConfigSchema,
} from "../../../protocol/payloads/config.ts";
import { explainIssues } from "../issue_text.ts";
import { placeholderIds } from "../../util/placeholders.ts";
import { fillPlaceholders } from "./fill_placeholders.ts";
import { type InputValues, resolveAll } from "./resolve_all.ts";

/**
 * Fills the inputs into what an MCP server is started with (spec §4).
 *
 * That is `server_parameters`: the other fields are shown to Agents, who never see a value.
 * Inputs are resolved one after the other, in the order in which they appear.
 *
 * @param signal stops waiting; an input that others wait for too goes on
 * @throws {Error} that names every input without a value, and each field that a value does not fit
 */
export async function prepareConfig(
  config: MCPServerConfig,
  inputs: InputValues,
  signal: AbortSignal,
): Promise<MCPServerConfig> {
  const ids = placeholderIds(config.server_parameters);
  if (ids.length === 0) return config;
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const values = await Promise.race([
      stopped.promise,
      resolveAll(ids, inputs, signal),
    ]);
    return fitting({
      ...config,
      server_parameters: fillPlaceholders(config.server_parameters, values),
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The value of a sole placeholder keeps its type, which may be none that belongs there. */
function fitting(filled: unknown): MCPServerConfig {
  const read = mcpServerConfigSchema.safeParse(filled);
  if (read.success) return read.data;
  const problems = explainIssues([], read.error.issues).map(({ path, text }) =>
    `${path.join(".")}: ${text}`
  );
  throw new Error(
    `the value of an input does not fit: ${problems.join("; ")}`,
  );
}
