import { abortable } from "../../../shared/async.ts";
import { readEntry } from "../parse_config.ts";
import {
  FILLED_FIELDS,
  SEEN_FIELDS,
  type ServerConfig,
} from "../server_config.ts";
import { placeholderIds } from "../../util/inputs.ts";
import { fillPlaceholders } from "./fill_placeholders.ts";
import { type InputValues, resolveAll } from "./resolve_all.ts";

/**
 * Fills the inputs into every string of a configuration but its name and `bundle_id` (spec §4).
 *
 * Inputs are resolved one after another, in order of appearance.
 *
 * @param signal stops waiting; resolving an input continues, since others may wait for it
 * @throws {Error} that names every input without a value, each field with an invalid value, or the
 * first field that would show a secret to Agents
 */
export async function prepareConfig(
  config: ServerConfig,
  inputs: InputValues,
  signal: AbortSignal,
): Promise<ServerConfig> {
  const fields = Object.entries(config)
    .filter(([field]) => FILLED_FIELDS.includes(field))
    .map(([field, value]) => ({ field, value, ids: placeholderIds(value) }))
    .filter(({ ids }) => ids.length > 0);
  if (fields.length === 0) return config;
  signal.throwIfAborted();
  for (const { field, ids } of fields) {
    const secret = SEEN_FIELDS.includes(field)
      ? ids.find((id) => !inputs.show(id))
      : undefined;
    if (secret === undefined) continue;
    throw new Error(
      `${field} has the input "${secret}", which is secret, but Agents see that field; use an input that is neither a "password" nor a "command"`,
    );
  }
  const ids = new Set(fields.flatMap(({ ids }) => ids));
  const values = await abortable(resolveAll([...ids], inputs, signal), signal);
  const filled = fields.map((
    { field, value },
  ) => [field, fillPlaceholders(value, values)]);
  return validated({ ...config, ...Object.fromEntries(filled) });
}

/** Validates the result: a value keeps its type, which its field may not allow. */
function validated(filled: ServerConfig): ServerConfig {
  const { config, problems } = readEntry(filled);
  if (config) return config;
  const texts = problems.map(({ path, text }) => `${path.join(".")}: ${text}`);
  throw new Error(`the value of an input does not fit: ${texts.join("; ")}`);
}
