import type { Refusal } from "../shared/refusal.ts";

/** The JSON-RPC code of errors that belong to no request. */
const REFUSED = -32000;

/** Converts a refusal to a `Response` as clients of a gateway read it: with an error of JSON-RPC. */
export function toGatewayResponse(
  { status, headers, body }: Refusal,
  further: Readonly<Record<string, string>> = {},
): Response {
  const { message }: { message: string } = JSON.parse(body);
  const error = { code: REFUSED, message };
  return new Response(JSON.stringify({ jsonrpc: "2.0", error, id: null }), {
    status,
    headers: { ...headers, ...further },
  });
}
