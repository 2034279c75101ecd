import { fileURLToPath } from "node:url";
import { start } from "../child.ts";
import type { Control, Counts } from "../fixtures/oauth_server.ts";

const SERVER = fileURLToPath(
  new URL("../fixtures/oauth_server.ts", import.meta.url),
);

/** An MCP server behind OAuth, in a separate process. */
export interface OAuthFixture extends AsyncDisposable {
  /** Its origin. */
  readonly origin: string;
  /** Changes its behavior; returns its counts. */
  control(control: Control): Promise<Counts>;
}

/** Starts the fixture. */
export async function startOAuth(): Promise<OAuthFixture> {
  const child = start(Deno.execPath(), ["run", "-A", "--quiet", SERVER]);
  const [origin = ""] = await child.line(/^http:.*/);
  return {
    origin,
    control: async (control) => {
      const response = await fetch(`${origin}/control`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(control),
      });
      return await response.json();
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** Follows a page like a user's browser; returns its final text. */
export async function visit(url: string): Promise<string> {
  const response = await fetch(url);
  return await response.text();
}
