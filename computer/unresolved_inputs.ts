import type { MCPServerConfig } from "../protocol/mod.ts";
import { placeholderIds } from "./placeholders.ts";

/**
 * Passes a configuration on that needs no input values.
 *
 * @throws {Error} that names the ids of the placeholders
 */
export function refusePlaceholders(
  config: MCPServerConfig,
): Promise<MCPServerConfig> {
  const ids = placeholderIds(config);
  return ids.length === 0 ? Promise.resolve(config) : Promise.reject(
    new Error(
      `there is no value for ${
        ids.map((id) => `\${input:${id}}`).join(", ")
      } in its configuration`,
    ),
  );
}
