import { reasonOf } from "../../util/values.ts";

/** Thrown when the command of an input failed, which may succeed when it is tried again. */
export class TransientInputError extends Error {
  /** Always `"TransientInputError"`. */
  override readonly name = "TransientInputError";
}

/** Resolves the values of inputs. */
export interface InputValues {
  /** Resolves a value; rejects with a sentence that names the input. */
  value(id: string): Promise<unknown>;
  /** Returns whether Agents may see the value; if so, output shows it from now on. */
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
