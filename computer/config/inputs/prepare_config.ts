import { abortable } from "../../../shared/async.ts";
import {
  type MCPServerConfig,
  mcpServerConfigSchema,
} from "../../../protocol/payloads/config.ts";
import { explainIssues } from "../issue_text.ts";
import { placeholderIds } from "../../util/placeholders.ts";
import { fillPlaceholders } from "./fill_placeholders.ts";
import { type InputValues, resolveAll } from "./resolve_all.ts";

/**
 * Fills the inputs into a configuration (spec §4).
 *
 * Only `server_parameters` are filled: Agents see the other fields, but never a value. Inputs are
 * resolved one after another, in order of appearance.
 *
 * @param signal stops waiting; resolving an input continues, since others may wait for it
 * @throws {Error} that names every input without a value, and each field with an invalid value
 */
export async function prepareConfig(
  config: MCPServerConfig,
  inputs: InputValues,
  signal: AbortSignal,
): Promise<MCPServerConfig> {
  const ids = placeholderIds(config.server_parameters);
  if (ids.length === 0) return config;
  signal.throwIfAborted();
  const values = await abortable(resolveAll(ids, inputs, signal), signal);
  return validated({
    ...config,
    server_parameters: fillPlaceholders(config.server_parameters, values),
  });
}

/** Validates the result: a value keeps its type, which its field may not allow. */
function validated(filled: unknown): MCPServerConfig {
  const read = mcpServerConfigSchema.safeParse(filled);
  if (read.success) return read.data;
  const problems = explainIssues([], read.error.issues, filled).map((
    { path, text },
  ) => `${path.join(".")}: ${text}`);
  throw new Error(
    `the value of an input does not fit: ${problems.join("; ")}`,
  );
}
