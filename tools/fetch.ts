/**
 * Fetches the downloads of a suite before its tests run, in the full environment of the user:
 * tests have a time limit, and the MCP servers that they start have a minimal environment, without
 * proxy and certificates. Skips what is in the cache.
 *
 * ```sh
 * deno run -A tools/fetch.ts test
 * ```
 *
 * @module
 */
import { type Part, SUITES } from "./test_parts.ts";

/** Delay of the message about a download; checking the cache is faster. */
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
// One at a time: Deno has one cache, and the output should name one download at a time.
for (const part of parts) {
  if (!await fetched(part)) Deno.exit(1);
}

/** Fetches a part; prints its name if that takes a while or fails. */
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
