/**
 * The Server on Cloudflare: the Worker is the door (`door.ts`), and each Durable Object has a Server of
 * its own.
 *
 * @module
 */
import type { Adapter } from "../fetch/fetch_requests.ts";
import { type FetchServer, newFetchServer } from "../fetch/fetch_server.ts";
import type { Metrics } from "../observe/metrics.ts";
import { newCluster } from "../shared/cluster.ts";
import { notFound, splitTarget, toResponse } from "../shared/http.ts";
import { failure, log } from "../shared/log.ts";
import {
  addressOf,
  type CheckedOptions,
  checkWorkerOptions,
  Door,
  LINK_PATH,
  logToConsole,
  METRICS_PATH,
  type ObjectSignIn,
  resolveWorkerOptions,
  SIGN_IN_PATH,
  type SignInPlace,
  type SmcpWorkerOptions,
  stubOf,
} from "./door.ts";
import { ObjectNode, objectOf, REGISTRY } from "./object_node.ts";
import {
  newPair,
  type ObjectHandlers,
  type ObjectState,
  open,
  upgrade,
  upgraded,
  webSocketOf,
  type WorkerWebSocket,
} from "./platform.ts";

/** Returns the adapter for Cloudflare Workers, for a `createSmcpServer()` in a Durable Object of your own. */
export const workers = (): Adapter<unknown> => ({
  name: "Cloudflare Workers",
  addressOf,
  upgrade: (_request, options) => upgrade(options),
});

/** A class of Durable Objects. */
export type ObjectClass<Env> = new (
  state: ObjectState,
  env: Env,
) => ObjectHandlers;

/** What a Worker's module exports. */
export interface SmcpWorker<Env> {
  /** The default export. */
  readonly worker: {
    fetch(request: Request, env: Env): Promise<Response>;
  };
  /** The class of the objects that hold sessions, bound as `FRONT`. */
  readonly Front: ObjectClass<Env>;
  /** The class of the objects that are the homes of offices, bound as `OFFICE`. */
  readonly Office: ObjectClass<Env>;
}

/**
 * Makes a Server of a Worker and Durable Objects: the Worker is the door, objects of one class hold the
 * sessions, and each office is an object of the other.
 *
 * @param options those of `createSmcpServer()` that can be kept there; a function of `env` for what is made
 * of secrets, or of random numbers, as `apiKeys()` is
 * @throws {TypeError} naming the option that cannot be used; of a function, at the first request
 *
 * @example
 * ```ts
 * import { apiKeys, parseApiKeys, smcpWorker } from "@a2c-smcp/sdk/server/workers";
 *
 * const { worker, Front, Office } = smcpWorker((env: { SMCP_KEYS: string }) => ({
 *   authenticator: apiKeys(parseApiKeys(env.SMCP_KEYS)),
 * }));
 * export { Front, Office, worker as default };
 * ```
 */
export function smcpWorker<Env extends object>(
  options: SmcpWorkerOptions | ((env: Env) => SmcpWorkerOptions),
): SmcpWorker<Env> {
  const optionsOf = (env: Env) => {
    const given = typeof options === "function" ? options(env) : options;
    return { ...given, ...checkWorkerOptions(given) };
  };
  if (typeof options !== "function") {
    checkWorkerOptions(options);
    resolveWorkerOptions(options);
  }
  let door: Door | undefined;
  const newClass = (): ObjectClass<Env> =>
    class extends SmcpObject {
      constructor(state: ObjectState, env: Env) {
        super(state, env, optionsOf(env));
      }
    };
  return {
    worker: {
      async fetch(request, env) {
        door ??= new Door(env, optionsOf(env));
        return await door.answer(request);
      },
    },
    Front: newClass(),
    Office: newClass(),
  };
}

/** A Durable Object with a Server of its own, which is one node among the objects. */
class SmcpObject implements ObjectHandlers {
  readonly #state: ObjectState;
  readonly #env: object;
  readonly #metrics: Metrics | undefined;
  readonly #server: FetchServer<unknown>;
  readonly #node: ObjectNode | undefined;
  readonly #signIn: ObjectSignIn | undefined;

  constructor(
    state: ObjectState,
    env: object,
    { metrics, single, signIn, fronts: _, ...options }: CheckedOptions,
  ) {
    logToConsole();
    const { name: object } = state.id;
    if (object === undefined) {
      throw new TypeError(
        "Cannot serve in an object without a name: it is made by smcpWorker() alone, with a runtime of 2026",
      );
    }
    this.#state = state;
    this.#env = env;
    const own = this.#metrics = metrics?.();
    const node = this.#node = single ? undefined : new ObjectNode({
      object,
      dial: (from, to) => dial(env, from, to),
      clients: () => this.#server.stats.connections,
      look: () => this.#signIn?.recheck(),
    });
    this.#signIn = signIn?.at(this.#signInPlace());
    this.#server = newFetchServer(
      {
        ...options,
        ...(this.#signIn && { signIn: this.#signIn.option }),
        ...(own && { metrics: own }),
        ...(node && { cluster: newCluster(node) }),
      },
      workers(),
    );
    for (const socket of state.getWebSockets()) {
      node?.add(this.#nodeAt(socket), socket);
    }
  }

  async fetch(request: Request): Promise<Response> {
    const { path, query } = splitTarget(request.url);
    if (path === LINK_PATH) return this.#link(decodeURIComponent(query));
    if (path === METRICS_PATH) return new Response(await this.#metrics?.text());
    if (path === SIGN_IN_PATH) {
      return await this.#signIn?.answer(request) ?? toResponse(notFound());
    }
    this.#node?.use();
    const response = await this.#server.fetch(plain(request));
    return path === "/metrics" && response.ok
      ? await this.#sum(response)
      : response;
  }

  /** The registry keeps sign-ins, or the one object where one is all. */
  #signInPlace(): SignInPlace {
    const { storage } = this.#state;
    const node = this.#node;
    const send = (to: string, message: unknown) => {
      const { binding, name } = objectOf(to);
      const body = JSON.stringify(message);
      const url = `https://object${SIGN_IN_PATH}`;
      const request = new Request(url, { method: "POST", body });
      return stubOf(this.#env, binding, name).fetch(request);
    };
    if (node !== undefined && node.node !== REGISTRY) {
      return { ask: (message) => send(REGISTRY, message) };
    }
    const notify = (message: unknown) => {
      for (const peer of node?.peers ?? []) {
        send(peer, message).catch((error) => {
          const details = { object: peer, ...failure(error) };
          log.warn("The object {object} does not know of an end", details);
        });
      }
    };
    return { storage, notify };
  }

  /** Adds the metrics of all other objects to those of the registry. */
  async #sum(response: Response): Promise<Response> {
    const others = [...this.#node?.peers ?? []].map(async (node) => {
      const { binding, name } = objectOf(node);
      const url = `https://object${METRICS_PATH}`;
      const answer = await stubOf(this.#env, binding, name)
        .fetch(new Request(url));
      return answer.ok ? await answer.text() : "";
    });
    const texts = (await Promise.allSettled(others))
      .map((each) => each.status === "fulfilled" ? each.value : "");
    const sum = sumMetrics([await response.text(), ...texts]);
    return new Response(sum, { headers: response.headers });
  }

  /** Connects another object. The registry sleeps while no operator asks; others have members in memory. */
  #link(from: string): Response {
    const [client, server] = newPair();
    const node = this.#node;
    if (node?.node === REGISTRY) {
      this.#state.acceptWebSocket(server, [from]);
      node.add(from, server);
    } else {
      node?.take(from, open(server));
      node?.use();
    }
    return upgraded(client);
  }

  webSocketMessage(socket: WorkerWebSocket, data: ArrayBuffer | string): void {
    this.#node?.received(this.#nodeAt(socket), socket, data);
  }

  webSocketClose(socket: WorkerWebSocket, code?: number): void {
    this.#node?.ended(this.#nodeAt(socket), socket, code);
  }

  webSocketError(socket: WorkerWebSocket): void {
    this.webSocketClose(socket);
  }

  #nodeAt(socket: WorkerWebSocket): string {
    const [node = ""] = this.#state.getTags(socket);
    return node;
  }
}

/** Requests an uncompressed answer: the platform compresses, and would do so again. */
function plain(request: Request): Request {
  if (request.headers.has("Upgrade")) return request;
  const headers = new Headers(request.headers);
  headers.delete("Accept-Encoding");
  return new Request(request, { headers });
}

/** Connects an object with another one, by a path that the door refuses to clients. */
async function dial(
  env: object,
  from: string,
  to: string,
): Promise<WorkerWebSocket> {
  const url = `https://object${LINK_PATH}?${encodeURIComponent(from)}`;
  const request = new Request(url, { headers: { Upgrade: "websocket" } });
  const response = await stubOf(env, "OFFICE", to).fetch(request);
  const socket = webSocketOf(response);
  if (socket === undefined) throw new Error(`answered ${response.status}`);
  return open(socket);
}

/** Gauges of which the greatest of all objects counts: times, and what is one for all. */
const GREATEST = /^process_|_(?:seconds|up|nodes|max)$/;

/**
 * Adds up the metrics of several objects in the exposition format of Prometheus. Objects that have
 * ended no longer count, so counters may fall.
 */
export function sumMetrics(texts: readonly string[]): string {
  // By name: the lines of help and type, and the samples by their labels.
  const families = new Map<string, [Set<string>, Map<string, number>]>();
  let current = "";
  for (const line of texts.flatMap((text) => text.split("\n"))) {
    if (line === "") continue;
    const [, name] = /^# (?:HELP|TYPE) (\S+) /.exec(line) ?? [];
    current = name ?? current;
    const [head, samples] = families.get(current) ?? [new Set(), new Map()];
    if (name !== undefined) families.set(name, [head.add(line), samples]);
    else {
      const isGreatest = GREATEST.test(current) &&
        !current.endsWith("_duration_seconds");
      const end = line.lastIndexOf(" ");
      const key = line.slice(0, end);
      const value = Number(line.slice(end + 1));
      const former = samples.get(key) ?? (isGreatest ? -Infinity : 0);
      samples.set(key, isGreatest ? Math.max(former, value) : former + value);
    }
  }
  const lines = families.values().flatMap(([head, samples]) => [
    ...head,
    ...samples.entries().map(([key, value]) => `${key} ${value}`),
  ]);
  return [...lines, ""].join("\n");
}
