import { join } from "node:path";
import { start } from "../child.ts";
import { scratch } from "../scratch.ts";
import { found, killed, onFreePorts, saysTaken, until } from "./programs.ts";
import { oneCommand, startRedis, type TestRedis } from "./redis.ts";
import { sentinelCommand } from "./server_program.ts";

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

/** Starts a master with a replica and three sentinels. */
export async function startSentinels(): Promise<SentinelRedis> {
  await using stack = new AsyncDisposableStack();
  const master = stack.use(await startRedis());
  const settings = [`replicaof 127.0.0.1 ${master.port}`];
  const replica = stack.use(await startRedis({ settings, used: false }));
  const servers = [master, replica] as const;
  await until(async () =>
    String(await replica.command("INFO", "replication"))
      .includes("master_link_status:up")
  );
  const places: string[] = [];
  for (let i = 0; i < 3; i++) {
    const folder = stack.use(await scratch());
    const { child, port } = await onFreePorts(
      1,
      (port) => startSentinel(folder.path, port, master.port),
      saysTaken,
    );
    stack.defer(() => killed(child));
    places.push(`127.0.0.1:${port}`);
  }
  const ask = () =>
    Promise.all(places.map(async (place) => {
      const words = ["SENTINEL", "MASTER", MASTER];
      const reply = await oneCommand(`redis://${place}`, words);
      // Names and values take turns.
      const list = Array.isArray(reply) ? reply.map(String) : [];
      return (name: string) => list[list.indexOf(name) + 1];
    }));
  // A fail-over needs a majority that knows each other, and a replica to take.
  await until(async () =>
    (await ask()).every((field) =>
      field("num-other-sentinels") === "2" && field("num-slaves") === "1"
    )
  );
  const current = async () => {
    const ports = new Set((await ask()).map((field) => field("port")));
    return ports.size > 1
      ? undefined
      : servers.find(({ port }) => ports.has(String(port)));
  };
  const owned = stack.move();
  return {
    url: `redis-sentinel://${places.join()}#${MASTER}`,
    servers,
    master: () => found(current, () => true),
    failedOver: (from) => found(current, (server) => server !== from),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startSentinel(folder: string, port: number, master: number) {
  const file = join(folder, "sentinel.conf"); // it writes there what it learns
  await Deno.writeTextFile(
    file,
    `bind 127.0.0.1
port ${port}
dir ${folder}
sentinel monitor ${MASTER} 127.0.0.1 ${master} 2
sentinel down-after-milliseconds ${MASTER} 1000
sentinel failover-timeout ${MASTER} 5000
`,
  );
  const [program, args] = await sentinelCommand(file);
  const child = start(program, args, { cwd: folder });
  await child.line(/\+monitor master/);
  return { child, port };
}

/** Three masters of a Redis Cluster. */
export interface ClusterRedis extends AsyncDisposable {
  /** Names the servers, as `--cluster` takes it. */
  readonly url: string;
  readonly servers: readonly TestRedis[];
}

/** Starts a Redis Cluster of three masters that share the slots. */
export async function startRedisCluster(): Promise<ClusterRedis> {
  await using stack = new AsyncDisposableStack();
  const servers: TestRedis[] = [];
  const settings = ["cluster-enabled yes", "cluster-port $PORT+1"];
  for (const slots of ["0 5460", "5461 10922", "10923 16383"]) {
    const one = await startRedis({ ports: 2, settings, used: false });
    servers.push(stack.use(one));
    await one.command("CLUSTER", "ADDSLOTSRANGE", ...slots.split(" "));
    const place = ["127.0.0.1", String(one.port), String(one.port + 1)];
    await servers[0]?.command("CLUSTER", "MEET", ...place);
  }
  await until(async () => {
    const infos = await Promise.all(
      servers.map((server) => server.command("CLUSTER", "INFO")),
    );
    return infos.map(String).every((info) =>
      info.includes("cluster_state:ok") && info.includes("known_nodes:3")
    );
  });
  const owned = stack.move();
  return {
    url: `redis-cluster://${
      servers.map(({ port }) => `127.0.0.1:${port}`).join()
    }`,
    servers,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
