import { fileURLToPath } from "node:url";
import { start } from "../child.ts";
import type { Control, Counts } from "../fixtures/oauth_server.ts";

const SERVER = fileURLToPath(
  new URL("../fixtures/oauth_server.ts", import.meta.url),
);

/** A MCP server behind OAuth that is a process of its own. */
export interface OAuthFixture extends AsyncDisposable {
  /** Where it is, without a path. */
  readonly origin: string;
  /** Tells it how to be; what it counted. */
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

/** What a person's browser does with the page that they are shown; the text that it ends with. */
export async function visit(url: string): Promise<string> {
  const response = await fetch(url);
  return await response.text();
}
