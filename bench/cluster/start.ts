import { missingPrograms } from "../../tests/support/cluster/install.ts";
import { startRedis } from "../../tests/support/cluster/redis.ts";
import { startPageBalancer } from "../../tests/support/cluster/balancers.ts";
import { ourServer } from "../contestants/mod.ts";
import { type Running, start, type Target } from "../contestants/running.ts";
import { guard } from "../leftovers.ts";
import type { Setting } from "./settings.ts";

/** The names of Servers, as in docs/scaling.md. */
const NAMES = ["a", "b", "c"];

/** Returns why clusters cannot be measured here; `undefined` if they can be. */
export const whyNoCluster = async (): Promise<string | undefined> =>
  (await missingPrograms(["redis-server"])).length === 0
    ? undefined
    : "Clusters need redis-server (on Debian: apt-get install redis-server)";

/** Whether the balancer of docs/scaling.md can be measured here. */
export const hasBalancer = async (): Promise<boolean> =>
  (await missingPrograms(["haproxy"])).length === 0;

/** Returns the versions of the programs that take part, by name. */
export async function programVersions(): Promise<Record<string, string>> {
  const balancer = await hasBalancer()
    ? await versionOf("haproxy", /version (\S+)/)
    : undefined;
  return {
    Redis: await versionOf("redis-server", /v=(\S+)/),
    ...balancer !== undefined && { HAProxy: balancer },
  };
}

async function versionOf(program: string, pattern: RegExp): Promise<string> {
  const { stdout } = await new Deno.Command(program, {
    args: ["-v"],
    stdin: "null",
  }).output();
  return pattern.exec(new TextDecoder().decode(stdout))?.[1] ?? "unknown";
}

/**
 * Starts an arrangement: new Servers, and a new Redis of default configuration where they share
 * their offices.
 *
 * @param folder the folder for their output
 */
export async function startSetting(
  { nodes, isCluster, agents, computers }: Setting,
  folder: string,
): Promise<Target & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  // What the tests' support starts is not among the processes that end with this one.
  const guarded = <P extends AsyncDisposable & { readonly pid: number }>(
    program: P,
  ): P => {
    stack.use(program);
    stack.use(guard(program.pid));
    return program;
  };
  const redis = isCluster ? guarded(await startRedis()) : undefined;
  const isBalanced = agents === "balancer" || computers === "balancer";
  const servers: Running[] = [];
  // One after the other, as an operator would.
  for (const name of NAMES.slice(0, nodes)) {
    const args = [
      ...redis ? [`--cluster=${redis.url}`, `--cluster-name=${name}`] : [],
      ...isBalanced ? ["--trust-proxy=1"] : [],
    ];
    servers.push(stack.use(await start(ourServer(name, args), folder)));
  }
  const balancer = isBalanced
    ? guarded(await startPageBalancer("haproxy-session.cfg", threeOf(servers)))
    : undefined;
  const portsOf = (of: Setting["agents"]) =>
    of === "balancer"
      ? [Number(new URL(balancer?.url ?? "").port)]
      : of.flatMap((at) => servers[at]?.port ?? []);
  const own = stack.move();
  return {
    name: "the cluster",
    agentPorts: portsOf(agents),
    computerPorts: portsOf(computers),
    processes: {
      ...Object.fromEntries(servers.map(({ name, pid }) => [name, pid])),
      ...redis && { redis: redis.pid },
      ...balancer && { balancer: balancer.pid },
    },
    raw: false,
    reencodes: false,
    log: () => servers.map((server) => server.log()).join("\n"),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** The page's balancer has three Servers; where there is one, it is all three. */
const threeOf = (servers: readonly Running[]) =>
  NAMES.flatMap((_, i) => servers[i % servers.length] ?? [])
    .map(({ port }) => ({ url: `http://127.0.0.1:${port}` }));
