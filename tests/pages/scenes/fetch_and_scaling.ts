import { givenRedis, WITHOUT_REDIS } from "../support/givens.ts";
import type { Given, Prepared, Scene } from "../support/scene.ts";

/** Resolves when a Server accepts sessions, in a cluster once it has joined that: curl asks again after a 503. */
const isReady = async ({ machine }: Given): Promise<void> =>
  void await machine.run(
    "curl -sf --retry 60 --retry-delay 1 http://127.0.0.1:8787/ready",
  );

const fetchPage = "docs/edge.md";
const first = 'authenticator: apiKeys([{ id: "team", key: Deno.env';
const own = 'new Response("My own page")';
const closing = "Deno.addSignalListener";
const clustered = "export default createFetchServer({\n  cluster";
const scaling = "docs/scaling.md";
const inCode = "const smcp = createSmcpServer({ cluster });";
const KEY = { TEAM_KEY: "the-key-of-the-team-0123456789ab" };

/** A Redis at an address of the page. */
const redis = (address: string): Prepared => ({
  because: "the reader's own: docs/scaling.md says what it has to be",
  make: (given) => givenRedis(given, address),
});

/** The blocks of docs/edge.md and docs/scaling.md. */
export const FETCH_AND_SCALING: readonly Scene[] = [
  {
    page: fetchPage,
    has: "deno serve --unstable-no-legacy-abort",
    covers: [first],
    saves: { "main.ts": first },
    then: isReady,
  },
  {
    page: fetchPage,
    has: own,
    saves: { "main.ts": own },
    then: async (given) => {
      const [, url] = await given.serve(
        "deno run -A main.ts",
        /Listening on (http:\S+\/)/,
      );
      await given.machine.run(
        `curl -sf ${url} | grep "My own page" && curl -sf ${url}ready`,
      );
    },
  },
  {
    page: fetchPage,
    has: closing,
    saves: { "main.ts": closing },
    then: async (given) => {
      await using child = given.machine.start("exec deno run -A main.ts", KEY);
      await child.line(/Listening on /);
      await isReady(given);
      const { code } = await child.stop();
      if (code !== 0) throw new Error(child.lines.join("\n"));
    },
  },
  {
    page: fetchPage,
    has: clustered,
    ignore: WITHOUT_REDIS,
    prepared: redis("127.0.0.1"),
    saves: { "main.ts": clustered },
    then: async (given) => {
      await given.serve("deno serve -A --port 8787 main.ts", /Listening on /);
      await isReady(given);
    },
  },
  {
    page: scaling,
    has: "--cluster redis://10.0.0.9:6379 --cluster-name a",
    ignore: WITHOUT_REDIS,
    prepared: redis("10.0.0.9"),
    warns: /without TLS/,
    then: isReady,
  },
  {
    page: scaling,
    has: inCode,
    ignore: WITHOUT_REDIS,
    prepared: redis("127.0.0.1"),
    saves: { "main.ts": inCode },
    then: async (given) => {
      await given.serve(
        "deno run -A main.ts & until curl -sf http://127.0.0.1:8787/ready; do kill -0 $! || exit 1; done; echo; wait",
        /"ready"/,
      );
    },
  },
];
