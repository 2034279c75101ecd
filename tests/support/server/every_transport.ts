import type { ServerSettings } from "../../../computer/mod.ts";
import { startHttpFixture } from "../fixtures/mcp_http.ts";
import { fixture } from "../computer/mcp_servers.ts";

/** The fixture over every transport. */
export interface EveryTransport extends AsyncDisposable {
  /** The server settings, by transport. */
  readonly settings: readonly (readonly [string, ServerSettings])[];
}

/** Starts the fixture over Streamable HTTP and SSE; over stdio a Computer starts it itself. */
export async function everyTransport(): Promise<EveryTransport> {
  const stack = new AsyncDisposableStack();
  const overHttp = async (type: "streamable" | "sse") => {
    const { url } = stack.use(await startHttpFixture(type));
    return [type, { type, server_parameters: { url } }] as const;
  };
  return {
    settings: [
      ["stdio", fixture()],
      await overHttp("streamable"),
      await overHttp("sse"),
    ],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
