/**
 * Fetches what a suite needs before its tests run, in the whole environment of whoever runs them:
 * a test has a time limit, and the MCP servers that it starts have a bare environment, without
 * proxy and certificates. Does nothing that is done already.
 *
 * ```sh
 * deno run -A tools/fetch.ts test
 * ```
 *
 * @module
 */
import { type Part, SUITES } from "./test_parts.ts";

/** What is there already is found to be so well before. */
const SHOW_AFTER_MS = 2000;

const [suite = ""] = Deno.args;
const parts = SUITES[suite];
if (parts === undefined) {
  console.error(
    `error: fetch what for? "${suite}" is none of ${
      Object.keys(SUITES).join(", ")
    }`,
  );
  Deno.exit(2);
}
// One after the other: Deno writes to one cache, and a person reads which one it is.
for (const part of parts) {
  if (!await fetched(part)) Deno.exit(1);
}

/** Fetches a part; says so when that takes a while, and what it was when it fails. */
async function fetched({ name, fetch }: Part): Promise<boolean> {
  const timer = setTimeout(
    () => console.log(`Fetching ${name} (once, then it is in the cache)`),
    SHOW_AFTER_MS,
  );
  try {
    await fetch();
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`error: cannot fetch ${name}, which the tests need
${reason.trimEnd().replaceAll(/^/gm, "  ")}
Is the network reachable? HTTPS_PROXY names a proxy, NODE_EXTRA_CA_CERTS the certificates of an authority of your own. Then run the command again.`);
    return false;
  } finally {
    clearTimeout(timer);
  }
}
