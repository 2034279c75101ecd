import { givenRedis, WITHOUT_REDIS } from "../support/givens.ts";
import { blockOf, type Given, type Scene } from "../support/scene.ts";

/** Writes the program of a block as `main.ts`. */
const program = (page: string, has: string) => async ({ machine }: Given) => {
  const { code } = await blockOf({ page, has });
  await machine.program("main.ts", code);
};

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

/** The blocks of docs/edge.md and docs/scaling.md. */
export const FETCH_AND_SCALING: readonly Scene[] = [
  {
    page: fetchPage,
    has: "deno serve --unstable-no-legacy-abort",
    covers: [first],
    given: async (given) => {
      await program(fetchPage, first)(given);
      return KEY;
    },
    then: isReady,
  },
  {
    page: fetchPage,
    has: own,
    given: async (given) => {
      await program(fetchPage, own)(given);
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
    given: async (given) => {
      await program(fetchPage, closing)(given);
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
    given: async (given) => {
      await givenRedis(given, "127.0.0.1");
      await program(fetchPage, clustered)(given);
      await given.serve("deno serve -A --port 8787 main.ts", /Listening on /);
      await isReady(given);
    },
  },
  {
    page: scaling,
    has: "--cluster redis://10.0.0.9:6379 --cluster-name a",
    ignore: WITHOUT_REDIS,
    given: async (given) => void await givenRedis(given, "10.0.0.9"),
    warns: /without TLS/,
    then: isReady,
  },
  {
    page: scaling,
    has: inCode,
    ignore: WITHOUT_REDIS,
    given: async (given) => {
      await givenRedis(given, "127.0.0.1");
      await program(scaling, inCode)(given);
      await given.serve(
        "deno run -A main.ts & until curl -sf http://127.0.0.1:8787/ready; do kill -0 $! || exit 1; done; echo; wait",
        /"ready"/,
      );
    },
  },
];
