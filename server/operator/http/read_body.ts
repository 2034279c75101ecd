import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { readJson } from "../../../shared/http/json_body.ts";
import { invalid } from "../problem.ts";

/** The largest body of most changes, in bytes. */
export const MAX_BODY_BYTES = 16_384;

/**
 * Reads the body of a change, which must be JSON.
 *
 * @param maxBytes the largest one
 * @throws {ProblemError} 400, 413, 415
 */
export async function readBody<S extends z.ZodType>(
  incoming: IncomingMessage,
  schema: S,
  maxBytes: number,
): Promise<z.output<S>> {
  const data = await readJson(incoming, maxBytes);
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  throw invalid(result.error, "body");
}
