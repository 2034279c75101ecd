/**
 * Random histories of two offices, compared with a small model: who has a seat, what each client is
 * notified of, where each request arrives, and how it ends.
 *
 * @module
 */
import fc from "fast-check";
import type { ProtocolName, Role } from "../../../../protocol/mod.ts";
import {
  type Asked,
  type PlainClient,
  type PlainOffices,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const HISTORIES = 20_000;
const MAX_COMMANDS = 30;
const CALLS_PER_AGENT = 2;
const MEMBERS_PER_OFFICE = 3;
const OFFICES = ["north", "south"];

/** What a client is, all its life; a connection that was closed is replaced by one of the same kind. */
interface Kind {
  readonly role: Role;
  readonly name: string;
  readonly protocol: ProtocolName;
  readonly instance?: string;
}

/** Pairs of one instance take over from each other; others compete for their names. */
const KINDS: readonly Kind[] = [
  { role: "agent", name: "a", protocol: "0.4", instance: "i" },
  { role: "agent", name: "b", protocol: "0.2", instance: "i" },
  { role: "agent", name: "a", protocol: "0.3" },
  { role: "computer", name: "c", protocol: "0.2", instance: "j" },
  { role: "computer", name: "c", protocol: "0.4", instance: "j" },
  { role: "computer", name: "c", protocol: "0.3" },
  { role: "computer", name: "d", protocol: "0.4" },
];

/** A request that was sent; `end` is how it should end for its sender, `acks` how it did. */
interface ModelCall {
  readonly reqId: string;
  readonly caller: ModelClient;
  readonly target: ModelClient | undefined;
  readonly hasProgress: boolean;
  readonly due: number;
  end: string | undefined;
  acks: unknown[][];
}

interface ModelClient extends Kind {
  office: string | undefined;
  /** What it should be notified of next. */
  readonly expected: string[];
}

/** What should be. */
class Model {
  now = 0;
  readonly clients: ModelClient[] = KINDS.map((kind) => newClient(kind));
  readonly calls: ModelCall[] = [];
  /** The seats that are held free, and until when. */
  readonly holds = new Map<string, number>();
  /** The members of each office, Computers in the order of their joins. */
  readonly offices = new Map<string, ModelClient[]>();

  members(office: string): ModelClient[] {
    const members = this.offices.get(office) ?? [];
    return [
      ...members.filter(({ role }) => role === "agent"),
      ...members.filter(({ role }) => role === "computer"),
    ];
  }

  pending(client: ModelClient): ModelCall[] {
    return this.calls.filter(({ caller, target, end }) =>
      end === undefined && (caller === client || target === client)
    );
  }

  notify(office: string, notice: string, except?: ModelClient): void {
    for (const member of this.members(office)) {
      if (member !== except) member.expected.push(notice);
    }
  }

  /** @returns whether it gets the seat */
  join(client: ModelClient, office: string): boolean {
    const { role, name, instance } = client;
    if (client.office === office) return true;
    if (client.office !== undefined && role === "agent") return false;
    if ((this.holds.get(seatKey(client, office)) ?? 0) > this.now) return false;
    const members = this.members(office);
    const holder = members.find((each) =>
      each.role === role && (role === "agent" || each.name === name)
    );
    if (holder && (!instance || holder.instance !== instance)) return false;
    if (!holder && members.length >= MEMBERS_PER_OFFICE) return false;
    this.leave(client, "4103");
    if (holder) this.leave(holder, "4103");
    this.offices.set(office, [...this.offices.get(office) ?? [], client]);
    client.office = office;
    this.notify(office, noticeOf("notify:enter_office", client), client);
    return true;
  }

  /** @param end how the requests of an Agent end */
  leave(client: ModelClient, end: string): void {
    const { office, role } = client;
    if (office === undefined) return;
    const members = this.offices.get(office) ?? [];
    this.offices.set(office, members.filter((each) => each !== client));
    this.notify(office, noticeOf("notify:leave_office", client));
    for (const call of this.pending(client)) {
      call.end = role === "computer" ? "404" : end;
    }
    client.office = undefined;
  }
}

const newClient = (kind: Kind): ModelClient => ({
  ...kind,
  office: undefined,
  expected: [],
});
const seatKey = ({ role, name }: Kind, office: string) =>
  `${office} ${role} ${name}`;
const noticeOf = (event: string, { office, role, name }: ModelClient) =>
  `${event} ${JSON.stringify({ office_id: office, [role]: name })}`;

/** What is. */
interface Real {
  readonly plain: PlainOffices;
  readonly clients: PlainClient[];
}

function newReal(): Real {
  const plain = plainOffices({
    callsPerAgent: CALLS_PER_AGENT,
    membersPerOffice: MEMBERS_PER_OFFICE,
  });
  return { plain, clients: KINDS.map((kind) => plain.connect(kind)) };
}

const fail = (what: string): never => {
  throw new Error(what);
};
/** Compares two simple values, or lists of them. */
const same = (got: unknown, expected: unknown, what: string): void => {
  const [a, b] = [got, expected].map((each) =>
    Array.isArray(each) ? each : [each]
  ) as [unknown[], unknown[]];
  if (a.length === b.length && a.every((each, at) => each === b[at])) return;
  fail(`${what}: got ${JSON.stringify(a)}, expected ${JSON.stringify(b)}`);
};

/** The outcome of an ack: a token, a code, or the whole of it. */
const outcomeOf = ([first]: unknown[]): string => {
  const { code, token } = Object(first);
  return `${token ?? code ?? JSON.stringify(first)}`;
};

/** What holds after every step. */
function compare(model: Model, { plain, clients }: Real): void {
  for (const office of OFFICES) {
    const members = plain.offices.find(office)?.members ?? [];
    same(
      members.map(({ peer }) => clients.findIndex((c) => c.peer === peer)),
      model.members(office).map((each) => model.clients.indexOf(each)),
      `members of ${office}`,
    );
    const agents = members.filter(({ role }) => role === "agent");
    if (agents.length > 1) fail(`two Agents in ${office}`);
    const names = members.map(({ role, name }) => role + name);
    if (new Set(names).size < names.length) fail(`a name twice in ${office}`);
  }
  for (const [at, client] of model.clients.entries()) {
    same(
      clients[at]?.take().map(({ event, payload }) =>
        `${event} ${JSON.stringify(payload)}`
      ),
      client.expected.splice(0),
      `notices of ${at}`,
    );
  }
  for (const { reqId, end, acks } of model.calls) {
    const expected = end === undefined || end === "gone" ? [] : [end];
    same(acks.map(outcomeOf), expected, `answers to ${reqId}`);
  }
  const pending = model.calls.filter(({ end }) => end === undefined).length;
  if (plain.deadlines.size !== pending) fail("a deadline is left, or missing");
}

/** A step of a history. */
type Step = fc.Command<Model, Real>;

const step = (
  name: string,
  run: (model: Model, real: Real) => void,
): Step => ({
  check: () => true,
  run(model, real) {
    run(model, real);
    compare(model, real);
  },
  toString: () => name,
});

const join = (at: number, office: string): Step =>
  step(`join(${at}, ${office})`, (model, real) => {
    const client = model.clients[at]!;
    const [ok] = real.clients[at]!.join(client.role, client.name, office) ?? [];
    same(ok, model.join(client, office), "join");
  });

const leave = (at: number): Step =>
  step(`leave(${at})`, (model, real) => {
    const client = model.clients[at]!;
    const { office } = client;
    const [ack] = real.clients[at]!.send("server:leave_office", {
      office_id: office ?? "north",
    });
    same(ack?.[0], office !== undefined, "leave");
    model.leave(client, "4103");
  });

const vanish = (at: number): Step =>
  step(`vanish(${at})`, (model, real) => {
    const client = model.clients[at]!;
    model.leave(client, "gone");
    real.clients[at]!.vanish();
    model.clients[at] = newClient(client);
    same(real.clients[at]!.take(), [], "notices of a client that is gone");
    const missed = model.calls.filter(({ caller, end }) =>
      caller === client && end === "gone"
    );
    same(real.clients[at]!.gone.length, missed.length, "missed answers");
    real.clients[at] = real.plain.connect(KINDS[at]);
  });

/** Where a step takes place: the client itself, or whoever is in the way of most requests of an office. */
interface Place {
  readonly at: number;
  readonly office: string | undefined;
}

/** The Agent of the office, if there is one; else the client. */
const callerAt = (model: Model, { at, office }: Place): number => {
  const agent = model.members(office ?? "").find(({ role }) =>
    role === "agent"
  );
  return agent ? model.clients.indexOf(agent) : at;
};

const call = (
  place: Place,
  target: string,
  how: { timeout: number; progress: boolean },
): Step =>
  step(`call(${JSON.stringify([place, target, how])})`, (model, real) => {
    const at = callerAt(model, place);
    const caller = model.clients[at]!;
    const { timeout, progress } = how;
    const reqId = `r${model.calls.length}`;
    const found = model.members(caller.office ?? "")
      .find(({ role, name }) => role === "computer" && name === target);
    const isOver = model.pending(caller).length >= CALLS_PER_AGENT;
    const code = codeOf(caller, "agent");
    const end = code !== undefined
      ? `${code}`
      : isOver
      ? "429"
      : found
      ? undefined
      : "404";
    const before = real.clients.map(({ asked }) => asked.length);
    const request = { agent: caller.name, req_id: reqId, computer: target };
    const acks = timeout > 0
      ? real.clients[at]!.send("client:tool_call", {
        ...request,
        tool_name: "t",
        params: {},
        timeout,
        ...(progress && { progress: true }),
      })
      : real.clients[at]!.send("client:get_tools", request);
    model.calls.push({
      reqId,
      caller,
      end,
      acks,
      target: end === undefined ? found : undefined,
      hasProgress: progress && timeout > 0,
      due: model.now + (timeout > 0 ? timeout * 1000 + 5000 : 30_000),
    });
    same(
      real.clients.map(({ asked }, n) => asked.length - before[n]!),
      model.clients.map((each) => end === undefined && each === found ? 1 : 0),
      "where the request arrived",
    );
  });

/** One of the requests that Computers got: a pending one, unless none is or it should be any. */
function pick(
  model: Model,
  real: Real,
  { which, isAny }: { readonly which: number; readonly isAny: boolean },
): { at: number; one: Asked; call: ModelCall } | undefined {
  const got = real.clients.flatMap(({ asked }, at) =>
    asked.map((one) => {
      const { req_id } = one.payload;
      const call = model.calls.find(({ reqId }) => reqId === req_id)!;
      return { at, one, call };
    })
  );
  const pending = got.filter(({ call }) => call.end === undefined);
  const those = isAny || pending.length === 0 ? got : pending;
  return those[which % those.length];
}

/** Answers a request, in time or late, once or again. */
const answer = (choice: { which: number; isAny: boolean }): Step =>
  step(`answer(${JSON.stringify(choice)})`, (model, real) => {
    const { one, call } = pick(model, real, choice) ?? {};
    if (one === undefined || call === undefined) return;
    call.end ??= `answer to ${call.reqId}`;
    one.isForgotten = false; // even where it should have been forgotten
    one.answer({ token: `answer to ${call.reqId}` });
  });

/** The Computer that got a request reports how far it is, whether or not it still may. */
const progress = (choice: { which: number; isAny: boolean }): Step =>
  step(`progress(${JSON.stringify(choice)})`, (model, real) => {
    const { at, one, call } = pick(model, real, choice) ?? {};
    if (at === undefined || one === undefined || call === undefined) return;
    const computer = model.clients[at]!;
    const { agent, req_id } = one.payload;
    const report = { computer: computer.name, agent, req_id, progress: 1 };
    const acks = real.clients[at]!.send("server:tool_call_progress", report);
    const isMember = computer.office !== undefined;
    same(acks.map(([ack]) => Object(ack).code), [
      isMember ? undefined : 4103,
    ], "progress");
    if (call.end === undefined && call.hasProgress) {
      call.caller.expected.push(
        `notify:tool_call_progress ${JSON.stringify(report)}`,
      );
    }
  });

/** @returns the code of an event that members of this role alone may send */
const codeOf = (client: ModelClient, role: Role): number | undefined =>
  client.office === undefined ? 4103 : client.role === role ? undefined : 403;

const cancel = (at: number, which: number): Step =>
  step(`cancel(${at}, ${which})`, (model, real) => {
    const client = model.clients[at]!;
    const cancelled = { agent: client.name, req_id: `r${which}` };
    const acks = real.clients[at]!.send("server:tool_call_cancel", cancelled);
    const code = codeOf(client, "agent");
    same(acks.map(([ack]) => Object(ack).code), [code], "cancel");
    if (code !== undefined) return;
    const notice = `notify:tool_call_cancel ${JSON.stringify(cancelled)}`;
    model.notify(client.office!, notice);
  });

const update = (at: number): Step =>
  step(`update(${at})`, (model, real) => {
    const client = model.clients[at]!;
    const about = { computer: client.name };
    const acks = real.clients[at]!.send("server:update_config", about);
    const code = codeOf(client, "computer");
    same(acks.map(([ack]) => Object(ack).code), [code], "update");
    if (code !== undefined) return;
    const notice = `notify:update_config ${JSON.stringify(about)}`;
    model.notify(client.office!, notice, client);
  });

const kick = (at: number, holdMs: number): Step =>
  step(`kick(${at}, ${holdMs})`, (model, real) => {
    const client = model.clients[at]!;
    const { office } = client;
    const { offices } = real.plain;
    const found = offices.findMember(real.clients[at]!.peer.id);
    same(found !== undefined, office !== undefined, "found");
    if (found === undefined || office === undefined) return;
    model.holds.set(seatKey(client, office), model.now + holdMs);
    model.leave(client, "403");
    const closed = real.clients[at]!.ended.length;
    offices.kick(found, { by: "root", reason: "why", holdMs });
    same(real.clients[at]!.ended.length, closed + 1, "closed");
  });

const wait = (ms: number): Step =>
  step(`wait(${ms})`, (model, real) => {
    model.now += ms;
    for (const call of model.calls) {
      if (call.due <= model.now) call.end ??= "408";
    }
    real.plain.advance(ms);
  });

/** At the end of each history: what is pending ends, everybody leaves in turn, and nothing is left. */
async function drain(model: Model, real: Real): Promise<void> {
  const { plain } = real;
  const drained = plain.offices.drain(0);
  same(plain.connect().join("computer", "late")?.[0], false, "late join");
  await drained;
  for (const call of model.calls) call.end ??= "500";
  for (const office of OFFICES) {
    for (const member of model.members(office)) model.leave(member, "500");
  }
  compare(model, real);
  if ([...plain.offices].length > 0) fail("an office is left");
  const { observed } = plain;
  if (observed.some(({ outcome }) => outcome === undefined)) {
    fail("the end of a request was not observed");
  }
}

const anyClient = fc.nat(KINDS.length - 1);
const anOffice = fc.constantFrom(...OFFICES);
const aPlace = fc.record({
  at: anyClient,
  office: fc.constantFrom("north", "north", "south", undefined),
});
const aChoice = fc.record({
  which: fc.nat(7),
  isAny: fc.constantFrom(false, false, true),
});
const aCall = fc.tuple(
  aPlace,
  fc.constantFrom("c", "c", "d", "x"),
  fc.record({ timeout: fc.nat(20), progress: fc.boolean() }),
).map(([place, target, how]) => call(place, target, how));
const aJoin = fc.tuple(anyClient, anOffice)
  .map(([at, office]) => join(at, office));

/** Requests and answers are more frequent than what ends them. */
const steps: fc.Arbitrary<Step>[] = [
  ...Array(4).fill(aCall),
  ...Array(3).fill(aChoice.map(answer)),
  aChoice.map(progress),
  aChoice.map(progress),
  aJoin,
  aJoin,
  fc.tuple(anyClient, fc.nat(7)).map(([at, which]) => cancel(at, which)),
  anyClient.map(update),
  anyClient.map(leave),
  anyClient.map(vanish),
  fc.tuple(anyClient, fc.constantFrom(0, 9_000))
    .map(([at, holdMs]) => kick(at, holdMs)),
  fc.integer({ min: 1_000, max: 12_000 }).map(wait),
];

/** Every history begins with an Agent and two Computers in one office. */
const begin = [join(0, "north"), join(3, "north"), join(6, "north")];

Deno.test(`the office is as its model after every step of ${HISTORIES} random histories: one Agent, unique names, each request ends once and for its sender alone, nothing crosses offices, one order of notices (protocol §3, §5, §7, §9)`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.commands(steps, { maxCommands: MAX_COMMANDS, size: "max" }),
      async (commands) => {
        const model = new Model();
        const real = newReal();
        for (const each of begin) each.run(model, real);
        fc.modelRun(() => ({ model, real }), commands);
        await drain(model, real);
      },
    ),
    { numRuns: HISTORIES },
  );
});
