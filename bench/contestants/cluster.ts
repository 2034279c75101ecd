/** Two Servers of this package that share their offices through a Redis of default configuration. */
import { missingPrograms } from "../../tests/support/cluster/install.ts";
import { startRedis } from "../../tests/support/cluster/redis.ts";
import { guard } from "../processes.ts";
import { type Recipe, start, type Target } from "./start.ts";

/** Returns why clusters cannot be measured here; `undefined` if they can be. */
export const whyNoCluster = async (): Promise<string | undefined> =>
  (await missingPrograms(["redis-server"])).length === 0
    ? undefined
    : "Clusters need redis-server (on Debian: apt-get install redis-server)";

/**
 * Starts them, one after the other, as an operator would.
 *
 * @param serverOf how to start a Server with further arguments
 * @param computersAt the number of the Server of the Computers; Agents are at 0
 */
export async function startCluster(
  folder: string,
  serverOf: (name: string, args: readonly string[]) => Recipe,
  computersAt: 0 | 1,
): Promise<Target & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  // The tests' support has started it, so that it would not end with this process.
  stack.use(guard(redis.pid));
  const startNode = async (name: string) =>
    stack.use(
      await start(
        serverOf(name, [`--cluster=${redis.url}`, `--cluster-name=${name}`]),
        folder,
      ),
    );
  const nodes = [await startNode("a"), await startNode("b")] as const;
  const own = stack.move();
  return {
    name: "the cluster",
    agentPort: nodes[0].port,
    computerPort: nodes[computersAt].port,
    processes: { a: nodes[0].pid, b: nodes[1].pid, redis: redis.pid },
    raw: false,
    log: () => nodes.map((node) => node.log()).join("\n"),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
