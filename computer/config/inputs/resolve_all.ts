import { reasonOf } from "../../util/values.ts";

/** An input that has no value now, and may have one the next time: its command failed. */
export class TransientInputError extends Error {
  /** Always `"TransientInputError"`. */
  override readonly name = "TransientInputError";
}

/** Who knows the values of inputs. */
export interface InputValues {
  /** Resolves a value; rejects with a sentence that names the input. */
  value(id: string): Promise<unknown>;
}

/**
 * Resolves inputs one after the other, so that a person is asked one thing at a time.
 *
 * @param signal stops before the next one
 * @throws {Error} that names every input without a value; a {@linkcode TransientInputError} when it
 * helps to try again
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
