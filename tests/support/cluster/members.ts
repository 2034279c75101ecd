import type { Role } from "../../../protocol/mod.ts";
import { RawClient, type RawServer } from "../wire/raw_client.ts";
import { until } from "./programs.ts";

/** A tool call as it came to a Computer. */
export interface ArrivedCall {
  readonly req_id: string;
  readonly params: {
    /** Characters of the answer. */
    readonly size?: number;
    /** Whether the answer waits for {@linkcode RawComputer.release}. */
    readonly hold?: boolean;
  };
}

/** A Computer of the test, which says how it was called. */
export interface RawComputer extends AsyncDisposable {
  readonly client: RawClient;
  /** The ids of all calls that came, in order. */
  readonly called: readonly string[];
  /** Resolves when so many calls have come. */
  arrived(calls: number): Promise<void>;
  /** Answers all calls that wait. */
  release(): void;
}

/** Joins a Computer that answers each tool call with a text of the wanted size. */
export async function joinComputer(
  server: RawServer,
  name: string,
  office: string,
): Promise<RawComputer> {
  const called: string[] = [];
  const held = new Set<() => void>();
  let changed = () => {};
  const client = joined(
    await ask(
      server,
      ["computer", name, office],
      (client) =>
        client.handle("client:tool_call", (payload, ack) => {
          const { req_id, params: { size = 2, hold } } = payload as ArrivedCall;
          called.push(req_id);
          const answer = () =>
            ack({ content: [{ type: "text", text: "x".repeat(size) }] });
          if (hold) held.add(answer);
          else answer();
          changed();
        }),
    ),
  );
  return {
    client,
    called,
    async arrived(calls) {
      while (called.length < calls) {
        await new Promise<void>((resolve) => changed = resolve);
      }
    },
    release() {
      for (const answer of held) answer();
      held.clear();
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** Joins an Agent. */
export const joinAgent = async (
  server: RawServer,
  name: string,
  office: string,
): Promise<RawClient> =>
  joined(await askForSeat(server, "agent", name, office));

/** A seat that was given, or why it was not. */
export type Asked =
  | { readonly client: RawClient }
  | { readonly refusal: string };

/** Asks for a seat once; a connection that fails is a refusal too. */
export const askForSeat = (
  server: RawServer,
  ...seat: [role: Role, name: string, office: string]
): Promise<Asked> => ask(server, seat);

/** Asks for a seat until it is given, whatever the reasons of refusals; the test's `timeout` bounds it. */
export async function joinSoon(
  ...seat: Parameters<typeof askForSeat>
): Promise<{ client: RawClient; refusals: string[] }> {
  const refusals: string[] = [];
  while (true) {
    const asked = await askForSeat(...seat);
    if ("client" in asked) return { client: asked.client, refusals };
    refusals.push(asked.refusal);
    await pause(50);
  }
}

async function ask(
  server: RawServer,
  seat: readonly [role: Role, name: string, office: string],
  prepare = (_client: RawClient) => {},
): Promise<Asked> {
  let client: RawClient;
  try {
    client = await connected(server);
  } catch (error) {
    return { refusal: String(error) };
  }
  prepare(client);
  const [ok, reason] = await Promise.race([
    client.join(...seat),
    client.disconnected().then((reason) => [false, reason]),
  ]);
  if (ok === true) return { client };
  await client[Symbol.asyncDispose]();
  return { refusal: String(reason) };
}

function joined(asked: Asked): RawClient {
  if ("client" in asked) return asked.client;
  throw new Error(`Could not join: ${asked.refusal}`);
}

/** Connects; rejects too when the connection is lost before the namespace answered, which the library tells nobody. */
async function connected(server: RawServer): Promise<RawClient> {
  const { url, ...options } = typeof server === "string"
    ? { url: server }
    : server;
  const client = new RawClient(url, options);
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // a later end is nobody's
  client.socket.io.once("close", () => lost.reject(new Error("lost")));
  try {
    await Promise.race([client.connected(), lost.promise]);
    return client;
  } catch (error) {
    await client[Symbol.asyncDispose]();
    throw error;
  }
}

/** An answer of a call: a result, or a flat error. */
export interface Answer {
  readonly content?: readonly { readonly text: string }[];
  readonly code?: number;
  readonly reason?: string;
}

let calls = 0;

/** Calls a tool; resolves with whatever the ack says. A new `req_id` unless one is given. */
export const callTool = (
  agent: RawClient,
  name: string,
  computer: string,
  { req_id = `call-${++calls}`, ...params }:
    & ArrivedCall["params"]
    & { readonly req_id?: string } = {},
): Promise<Answer> =>
  agent.ask("client:tool_call", {
    agent: name,
    req_id,
    computer,
    tool_name: "echo",
    params,
    timeout: 60,
  }) as Promise<Answer>;

/** Returns the members of an office as an Agent lists them: `role name`, sorted. */
export async function roomOf(
  agent: RawClient,
  name: string,
  office_id: string,
): Promise<string[]> {
  const request = { agent: name, req_id: `list-${++calls}`, office_id };
  const { sessions } = await agent.ask("server:list_room", request) as {
    sessions: { role: string; name: string }[];
  };
  return sessions.map(({ role, name }) => `${role} ${name}`).sort();
}

/** Returns the notices of others that enter or leave: `enter pc`, in order. */
export const comings = ({ heard }: Pick<RawClient, "heard">): string[] =>
  heard.flatMap(({ event, payload }) => {
    const [, verb] = /^notify:(enter|leave)_office$/.exec(event) ?? [];
    const { agent, computer } = payload as Record<string, string>;
    return verb ? [`${verb} ${agent ?? computer}`] : [];
  });

/** The notices of those that leave. */
export const leaves = (client: Pick<RawClient, "heard">): string[] =>
  comings(client).filter((text) => text.startsWith("leave"));

/**
 * Waits for a notice such as `enter pc`.
 *
 * An Agent on another node may call a Computer from then on: its node learns of a join by the same message.
 */
export const heard = (
  client: Pick<RawClient, "heard">,
  text: string,
  count = 1,
): Promise<void> =>
  until(() => comings(client).filter((each) => each === text).length >= count);

/** What became of a call. */
export interface Told {
  /** `ok`, or the code of the error. */
  readonly outcome: "ok" | number;
  readonly ms: number;
  readonly answer: Answer;
}

/** Calls that follow each other while something else happens. */
export interface Traffic {
  /** The answers so far. */
  readonly told: readonly Told[];
  /** Ends it; resolves when the last call is answered. */
  stop(): Promise<readonly Told[]>;
}

/** Calls a Computer again and again, one call after the other, while the Agent is connected. */
export function startTraffic(
  agent: RawClient,
  name: string,
  computer: string,
): Traffic {
  const told: Told[] = [];
  const calling = repeat(20, async () => {
    if (!agent.socket.connected) return;
    const began = performance.now();
    const answer = await Promise.race([
      callTool(agent, name, computer),
      agent.disconnected().then(() => undefined),
    ]);
    if (answer === undefined) return;
    const ms = performance.now() - began;
    told.push({ outcome: answer.code ?? "ok", ms, answer });
  });
  const stop = async () => {
    await calling.stop();
    return told;
  };
  return { told, stop };
}

/** Asks for the Agent's seat of an office again and again, which must never be given: {@linkcode stop} rejects then. */
export function startStranger(url: string, office: string) {
  const refusals: string[] = [];
  const asking = repeat(100, async () => {
    const asked = await askForSeat(url, "agent", "stranger", office);
    if ("refusal" in asked) return void refusals.push(asked.refusal);
    await asked.client[Symbol.asyncDispose]();
    throw new Error(`A stranger got the seat of "${office}"`);
  });
  return { refusals, stop: asking.stop };
}

/** Does something again and again, until it fails or is stopped; `stop` rejects with its failure. */
export function repeat(pauseMs: number, act: () => Promise<unknown>) {
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      await act();
      await pause(pauseMs);
    }
  };
  const running = run();
  running.catch(() => {});
  return {
    stop: async (): Promise<void> => {
      isOver = true;
      await running;
    },
  };
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
