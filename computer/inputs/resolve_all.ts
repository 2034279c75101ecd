import { reasonOf } from "../_values.ts";

/** Who knows the values of inputs. */
export interface InputValues {
  /** Resolves a value; rejects with a sentence that names the input. */
  value(id: string): Promise<unknown>;
}

/**
 * Resolves inputs one after the other, so that a person is asked one thing at a time.
 *
 * @param signal stops before the next one
 * @throws {Error} that names every input without a value
 */
export async function resolveAll(
  ids: readonly string[],
  inputs: InputValues,
  signal?: AbortSignal,
): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  const problems: string[] = [];
  for (const id of ids) {
    if (signal?.aborted) break;
    try {
      values.set(id, await inputs.value(id));
    } catch (error) {
      problems.push(reasonOf(error));
    }
  }
  if (problems.length > 0) throw new Error(problems.join("; "));
  return values;
}
