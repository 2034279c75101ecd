import type { IncomingHttpHeaders } from "node:http";
import { problemOf } from "./problem.ts";

/** A request, of which the body is read. */
interface Incoming extends AsyncIterable<Uint8Array> {
  readonly headers: IncomingHttpHeaders;
}

/**
 * Reads the body of a change. Its type must be JSON: a form of another site cannot send that.
 *
 * @param maxBytes the largest body
 * @throws {ProblemError} 400, 413, 415
 */
export async function readJson(
  incoming: Incoming,
  maxBytes: number,
): Promise<unknown> {
  const type = incoming.headers["content-type"] ?? "";
  if (!/^application\/json *(;|$)/i.test(type)) {
    throw problemOf(
      415,
      "Content-Type",
      "it is not application/json",
      "send the body as JSON, and say so",
    );
  }
  const text = await textOf(incoming, maxBytes);
  try {
    return JSON.parse(text);
  } catch {
    throw problemOf(400, "body", "it is not JSON", "send a JSON object");
  }
}

/** Reads what is too long as well, since a refusal before its end would not arrive. */
async function textOf(
  incoming: Incoming,
  maxBytes: number,
): Promise<string> {
  const tooLarge = () =>
    problemOf(
      413,
      "body",
      `it has more than ${maxBytes} bytes`,
      "send less",
    );
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let [text, size] = ["", 0];
  if (Number(incoming.headers["content-length"]) > maxBytes) throw tooLarge();
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size <= maxBytes) text += decoder.decode(chunk, { stream: true });
  }
  if (size > maxBytes) throw tooLarge();
  return text + decoder.decode();
}
