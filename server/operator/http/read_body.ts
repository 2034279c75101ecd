import type { IncomingMessage } from "node:http";
import { Buffer } from "node:buffer";
import type { z } from "zod";
import { invalid, problemOf } from "../problem.ts";

/** The largest body, in bytes. */
const MAX_BODY_BYTES = 16_384;

/**
 * Reads the body of a change. Its type must be JSON: a form of another site cannot send that.
 *
 * @throws {ProblemError} 400, 413, 415
 */
export async function readBody<S extends z.ZodType>(
  incoming: IncomingMessage,
  schema: S,
): Promise<z.output<S>> {
  const type = incoming.headers["content-type"] ?? "";
  if (!/^application\/json *(;|$)/i.test(type)) {
    throw problemOf(
      415,
      "Content-Type",
      "it is not application/json",
      "send the body as JSON, and say so",
    );
  }
  const text = await textOf(incoming);
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw problemOf(400, "body", "it is not JSON", "send a JSON object");
  }
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  throw invalid(result.error, "body");
}

/** Reads what is too long as well, since a refusal before its end would not arrive. */
async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (Number(incoming.headers["content-length"]) > MAX_BODY_BYTES) {
    throw tooLarge();
  }
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (size > MAX_BODY_BYTES) throw tooLarge();
  return Buffer.concat(chunks).toString();
}

const tooLarge = () =>
  problemOf(
    413,
    "body",
    `it has more than ${MAX_BODY_BYTES} bytes`,
    "send less",
  );
