import {
  JOIN_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  type Role,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import {
  RawClient,
  type RawOptions,
  type RawServer,
} from "../../wire/raw_client.ts";
import { until } from "../programs.ts";

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
  url: string,
  name: string,
  office: string,
  options?: RawOptions,
): Promise<RawComputer> {
  const client = await connected(url, options);
  const called: string[] = [];
  const held = new Set<() => void>();
  let changed = () => {};
  client.handle(TOOL_CALL_EVENT, (payload, ack) => {
    const { req_id, params } = payload as ArrivedCall;
    called.push(req_id);
    const answer = () =>
      ack({ content: [{ type: "text", text: "x".repeat(params.size ?? 2) }] });
    if (params.hold) held.add(answer);
    else answer();
    changed();
  });
  await joined(client, "computer", name, office);
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
export async function joinAgent(
  url: string,
  name: string,
  office: string,
  options?: RawOptions,
): Promise<RawClient> {
  const client = await connected(url, options);
  await joined(client, "agent", name, office);
  return client;
}

/** A seat that was given, or why it was not. */
export type Asked =
  | { readonly client: RawClient }
  | { readonly refusal: string };

/** Asks for a seat once; a connection that fails is a refusal too. */
export async function askForSeat(
  server: RawServer,
  role: Role,
  name: string,
  office: string,
): Promise<Asked> {
  const { url, ...options } = typeof server === "string"
    ? { url: server }
    : server;
  let client: RawClient;
  try {
    client = await connected(url, options);
  } catch (error) {
    return { refusal: String(error) };
  }
  const answer = await Promise.race([
    client.join(role, name, office),
    client.disconnected().then((reason) => [false, reason]),
  ]);
  if (answer[0] === true) return { client };
  await client[Symbol.asyncDispose]();
  return { refusal: String(answer[1]) };
}

/** Asks for a seat until it is given, whatever the reasons of refusals; the test's `timeout` bounds it. */
export async function joinSoon(
  ...seat: Parameters<typeof askForSeat>
): Promise<{ client: RawClient; refusals: string[] }> {
  const refusals: string[] = [];
  while (true) {
    const asked = await askForSeat(...seat);
    if ("client" in asked) return { client: asked.client, refusals };
    refusals.push(asked.refusal);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** An answer of a call: a result, or a flat error. */
export interface Answer {
  readonly content?: readonly { readonly text: string }[];
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly reason?: string };
}

let calls = 0;

/** Parameters of a call, and its `req_id` if it is not a new one. */
type CallParams = ArrivedCall["params"] & { readonly req_id?: string };

/** Calls a tool; resolves with whatever the ack says. */
export const callTool = (
  agent: RawClient,
  name: string,
  computer: string,
  { req_id = `call-${++calls}`, ...params }: CallParams = {},
): Promise<Answer> =>
  agent.ask(TOOL_CALL_EVENT, {
    agent: name,
    req_id,
    computer,
    tool_name: "echo",
    params,
    timeout: 60,
  }) as Promise<Answer>;

/** Returns the members of an office as an Agent is told: `role name`, sorted. */
export async function roomOf(
  agent: RawClient,
  name: string,
  office_id: string,
): Promise<string[]> {
  const request = { agent: name, req_id: `list-${++calls}`, office_id };
  const { sessions } = await agent.ask(LIST_ROOM_EVENT, request) as {
    sessions: { role: string; name: string }[];
  };
  return sessions.map(({ role, name }) => `${role} ${name}`).sort();
}

/** Returns what a client heard of others that enter or leave: `enter pc`, in order. */
export const comings = ({ heard }: Pick<RawClient, "heard">): string[] =>
  heard.flatMap(({ event, payload }) => {
    const [, verb] = /^notify:(enter|leave)_office$/.exec(event) ?? [];
    const { agent, computer } = payload as Record<string, string>;
    return verb ? [`${verb} ${agent ?? computer}`] : [];
  });

/**
 * Waits until a client has heard of a coming or going, such as `enter pc`.
 *
 * An Agent on another node may call a Computer once it has heard of it: its node learns of a join by
 * the same message.
 */
export const heard = (
  client: Pick<RawClient, "heard">,
  text: string,
  count = 1,
): Promise<void> =>
  until(() =>
    Promise.resolve(
      comings(client).filter((each) => each === text).length >= count,
    )
  );

/** Connects; rejects too when the connection is lost before the namespace answered, which the library tells nobody. */
async function connected(
  url: string,
  options?: RawOptions,
): Promise<RawClient> {
  const client = new RawClient(url, options);
  const lost = Promise.withResolvers<never>();
  client.socket.io.once("close", () => lost.reject(new Error("lost")));
  try {
    await Promise.race([client.connected(), lost.promise]);
    return client;
  } catch (error) {
    await client[Symbol.asyncDispose]();
    throw error;
  } finally {
    lost.promise.catch(() => {}); // a later end is nobody's
  }
}

async function joined(
  client: RawClient,
  role: Role,
  name: string,
  office_id: string,
): Promise<void> {
  const payload = { role, name, office_id };
  const [ok, reason] = await Promise.race([
    client.request(JOIN_OFFICE_EVENT, payload),
    client.disconnected().then((why) => [false, why]),
  ]);
  if (ok === true) return;
  await client[Symbol.asyncDispose]();
  throw new Error(`${role} "${name}" could not join: ${reason}`);
}
