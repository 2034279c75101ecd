import {
  FILLED_FIELDS,
  mapTexts,
  SEEN_FIELDS,
  type ServerConfig,
} from "./config.ts";
import { readEntry } from "./parse_config.ts";
import { placeholderIds, splitPlaceholders } from "../util/inputs.ts";
import { reasonOf } from "../util/values.ts";
import { abortable } from "../../shared/async.ts";

/**
 * Fills the inputs into every string of a configuration but its name and `bundle_id` (protocol §4).
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
  const filled = fields.map(({ field, value }) => [
    field,
    fillPlaceholders(value, values),
  ]);
  // Validated again: a value keeps its type, which its field may not allow.
  const read = readEntry({ ...config, ...Object.fromEntries(filled) });
  if (read.config) return read.config;
  const texts = read.problems
    .map(({ path, text }) => `${path.join(".")}: ${text}`);
  throw new Error(`the value of an input does not fit: ${texts.join("; ")}`);
}

/** Thrown when the command of an input failed, which may succeed when it is tried again. */
export class TransientInputError extends Error {
  /** Always `"TransientInputError"`. */
  override readonly name = "TransientInputError";
}

/** Resolves the values of inputs. */
interface InputValues {
  /** Resolves the value of an input; rejects if it has none. */
  value(id: string): Promise<unknown>;
  /** Marks the value as visible to Agents; returns false if the input is secret. */
  show(id: string): boolean;
}

/**
 * Resolves inputs one after another, so that the user is asked one question at a time.
 *
 * @param signal stops before the next one
 * @throws {Error} that names every input without a value; a {@linkcode TransientInputError} if
 * another attempt may succeed
 */
export async function resolveAll(
  ids: readonly string[],
  inputs: InputValues,
  signal?: AbortSignal,
): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  const problems: unknown[] = [];
  for (const id of ids) {
    if (signal?.aborted) break;
    try {
      values.set(id, await inputs.value(id));
    } catch (error) {
      problems.push(error);
    }
  }
  if (problems.length > 0) {
    const text = problems.map(reasonOf).join("; ");
    throw problems.every((error) => error instanceof TransientInputError)
      ? new TransientInputError(text)
      : new Error(text);
  }
  return values;
}

/** Maximum nesting of lists and objects, as in the Python SDK. */
const MAX_DEPTH = 10;

/**
 * Replaces `${input:ID}` in every string of a value (protocol §4).
 *
 * A string that consists of one placeholder becomes the input's value, of any type; in other
 * strings the value is inserted as text, structured values as JSON. Placeholders within inserted
 * values are not replaced.
 *
 * @param values by id
 * @throws {Error} that names an id without a value, or when a string is nested too deeply
 */
export const fillPlaceholders = (
  value: unknown,
  values: ReadonlyMap<string, unknown>,
): unknown =>
  mapTexts(value, (text, path) => {
    if (path.length <= MAX_DEPTH) return fillString(text, values);
    throw new Error(
      `Cannot fill in inputs: the configuration is nested deeper than ${MAX_DEPTH} levels`,
    );
  });

function fillString(
  text: string,
  values: ReadonlyMap<string, unknown>,
): unknown {
  const parts = splitPlaceholders(text);
  const [only] = parts;
  if (parts.length === 1 && only?.kind === "placeholder") {
    return requireValue(only.id, values);
  }
  return parts.map((part) => {
    if (part.kind === "text") return part.text;
    const value = requireValue(part.id, values);
    return typeof value === "string" ? value : JSON.stringify(value);
  }).join("");
}

function requireValue(
  id: string,
  values: ReadonlyMap<string, unknown>,
): unknown {
  if (values.has(id)) return values.get(id);
  throw new Error(`Cannot fill in \${input:${id}}: it has no value`);
}
