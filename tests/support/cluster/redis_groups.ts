import { join } from "node:path";
import { start } from "../child.ts";
import { sentinelCommand } from "./server_program.ts";
import { scratch } from "../scratch.ts";
import { found, killed, onFreePorts, saysTaken, until } from "./programs.ts";
import { oneCommand, startRedis, type TestRedis } from "./redis.ts";

/** The name that sentinels have for the master. */
const MASTER = "smcp";

/** A master, a replica of it, and three sentinels. */
export interface SentinelRedis extends AsyncDisposable {
  /** Names the sentinels and the master, as `--cluster` takes it. */
  readonly url: string;
  /** The server that is the master at the start, and its replica. */
  readonly servers: readonly [TestRedis, TestRedis];
  /** Resolves with the server that the sentinels call the master. */
  master(): Promise<TestRedis>;
  /** Resolves when the sentinels call a server other than this the master. */
  failedOver(from: TestRedis): Promise<TestRedis>;
}

/**
 * Starts a master with a replica and three sentinels.
 *
 * @param downAfterMs how long a master may be silent before the sentinels replace it
 */
export async function startSentinels(
  { downAfterMs = 1000 }: { downAfterMs?: number } = {},
): Promise<SentinelRedis> {
  const stack = new AsyncDisposableStack();
  try {
    const master = stack.use(await startRedis());
    const replica = stack.use(
      await startRedis({
        settings: [`replicaof 127.0.0.1 ${master.port}`],
        used: false,
      }),
    );
    await until(async () =>
      /master_link_status:up/.test(
        String(await replica.command("INFO", "replication")),
      )
    );
    const sentinels: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { port, close } = await startSentinel(master.port, downAfterMs);
      stack.defer(close);
      sentinels.push(port);
    }
    const ask = async (port: number) => {
      const sentinel = `redis://127.0.0.1:${port}`;
      const words = ["SENTINEL", "MASTER", MASTER];
      return toFields(await oneCommand(sentinel, words));
    };
    // A fail-over needs a majority that knows each other, and a replica to take.
    await until(async () => {
      const states = await Promise.all(sentinels.map(ask));
      return states.every((state) =>
        state.get("num-other-sentinels") === "2" &&
        state.get("num-slaves") === "1"
      );
    });
    const servers = [master, replica] as const;
    const current = async () => {
      const states = await Promise.all(sentinels.map(ask));
      const ports = new Set(states.map((state) => state.get("port")));
      return ports.size > 1
        ? undefined
        : servers.find(({ port }) => ports.has(String(port)));
    };
    const owned = stack.move();
    return {
      url: `redis-sentinel://${
        sentinels.map((port) => `127.0.0.1:${port}`).join(",")
      }#${MASTER}`,
      servers,
      master: () => found(current, () => true),
      failedOver: (from) => found(current, (server) => server !== from),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function startSentinel(master: number, downAfterMs: number) {
  const folder = await scratch();
  const { child, port } = await onFreePorts(1, async (port) => {
    const file = join(folder.path, "sentinel.conf"); // it writes there what it learns
    const lines = [
      "bind 127.0.0.1",
      `port ${port}`,
      `dir ${folder.path}`,
      `sentinel monitor ${MASTER} 127.0.0.1 ${master} 2`,
      `sentinel down-after-milliseconds ${MASTER} ${downAfterMs}`,
      `sentinel failover-timeout ${MASTER} 5000`,
      "",
    ];
    await Deno.writeTextFile(file, lines.join("\n"));
    const [program, args] = await sentinelCommand(file);
    const child = start(program, args, { cwd: folder.path });
    await child.line(/\+monitor master/);
    return { child, port };
  }, saysTaken);
  const close = async () => {
    await killed(child);
    await folder[Symbol.asyncDispose]();
  };
  return { port, close };
}

/** Reads names and values that take turns. */
function toFields(reply: unknown): ReadonlyMap<string, string> {
  const words = Array.isArray(reply) ? reply.map(String) : [];
  const pairs = words.flatMap((word, i) =>
    i % 2 === 0 ? [[word, words[i + 1] ?? ""] as const] : []
  );
  return new Map(pairs);
}

/** Three masters of a Redis Cluster. */
export interface ClusterRedis extends AsyncDisposable {
  /** Names the servers, as `--cluster` takes it. */
  readonly url: string;
  readonly servers: readonly TestRedis[];
}

/** Starts a Redis Cluster of three masters that share the slots. */
export async function startRedisCluster(): Promise<ClusterRedis> {
  const stack = new AsyncDisposableStack();
  try {
    const servers: TestRedis[] = [];
    for (const slots of ["0 5460", "5461 10922", "10923 16383"]) {
      const server = stack.use(
        await startRedis({
          ports: 2,
          settings: ["cluster-enabled yes", "cluster-port $PORT+1"],
          used: false,
        }),
      );
      await server.command("CLUSTER", "ADDSLOTSRANGE", ...slots.split(" "));
      servers.push(server);
    }
    const [first, ...others] = servers;
    for (const { port } of others) {
      const place = ["127.0.0.1", String(port), String(port + 1)];
      await first?.command("CLUSTER", "MEET", ...place);
    }
    await until(async () => {
      const infos = await Promise.all(
        servers.map((server) => server.command("CLUSTER", "INFO")),
      );
      return infos.every((info) =>
        /cluster_state:ok/.test(String(info)) &&
        /cluster_known_nodes:3/.test(String(info))
      );
    });
    const owned = stack.move();
    return {
      url: `redis-cluster://${
        servers.map(({ port }) => `127.0.0.1:${port}`).join(",")
      }`,
      servers,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
