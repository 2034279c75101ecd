import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import {
  channelOf,
  type LinkOptions,
  type LinkRedis,
} from "../../../../server/cluster/redis_links.ts";
import {
  decodeFrame,
  encodeFrame,
  LINK_VERSION,
} from "../../../../server/cluster/link_frames.ts";
import { LinkNode } from "../../../support/cluster/link_node.ts";
import { until } from "../../../support/cluster/programs.ts";

/** A tenth of the defaults and less: the relations between them count. */
const QUICK = {
  beatMs: 40,
  lookMs: 10,
  goneMs: 10,
  settleMs: 40,
  silentMs: 200,
  answerMs: 500,
  goodbyeMs: 100,
} satisfies Partial<LinkOptions>;

const beatOf = (from: string, version = LINK_VERSION) =>
  encodeFrame({
    kind: "beat",
    version,
    from,
    asks: true,
    sent: 0,
    taken: 0,
    room: 1_000,
  });

Deno.test("openLinks() publishes the small messages of one turn at once, and keeps their order", async () => {
  await using all = await threeNodes();
  const { redis, north, south, west } = all;
  assertEquals(
    [north, west].map(({ links }) => [...links.peers].sort()),
    [["south", "west"], ["north", "south"]],
  );
  west.send("south", "first");
  await south.hears("west: first");
  const before = redis.published;
  for (let i = 0; i < 100; i++) north.send("south", String(i), `s${i % 7}`);
  const after = new Promise<number>((resolve) =>
    queueMicrotask(() => resolve(redis.published))
  );
  assertEquals(await after - before, 1);
  await south.hears("north: 99");
  assertEquals(south.heard, [
    "west: first",
    ...Array.from({ length: 100 }, (_, i) => `north: ${i}`),
  ]);
});

Deno.test("meet() resolves in time when a node does not answer, which is not taken for gone", async () => {
  const redis = new FakeRedis();
  let now = 1_000_000;
  const timed = { ...QUICK, silentMs: 60_000, answerMs: 10, now: () => now };
  await using north = await LinkNode.open(redis.connect(), "north", timed);
  await north.links.meet(["nobody", "north"]);
  for (let i = 0; i < 3; i++) {
    now += QUICK.goneMs;
    const { looks } = redis;
    await until(() => north.heard.length > 0 || redis.looks >= looks + 2);
  }
  assertEquals(north.heard, []);
  assertEquals([...north.links.peers], ["nobody"]);
});

Deno.test("openLinks() refuses a node of another version of the links", async () => {
  for (const [more, isMet] of [[0, true], [-1, false], [1, false]] as const) {
    const redis = new FakeRedis();
    const calm = { ...QUICK, lookMs: 10_000 };
    await using north = await LinkNode.open(redis.connect(), "north", calm);
    const answers: string[] = [];
    await redis.connect().subscribe(channelOf("south"), (message) => {
      answers.push(decodeFrame(message).kind);
      north.wake();
    });
    redis.deliver(channelOf("north"), beatOf("south", LINK_VERSION + more));
    if (isMet) await north.until(() => answers.length > 0);
    else await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(answers, isMet ? ["beat"] : []);
    assertEquals([...north.links.peers], isMet ? ["south"] : []);
  }
});

Deno.test("openLinks() survives whatever is sent to its channel", async () => {
  await using all = await threeNodes();
  const { redis, north, south } = all;
  for (let i = 0; i < 2_000; i++) {
    const bytes = Buffer.from(
      Array.from({ length: i % 40 }, () => Math.floor(Math.random() * 256)),
    );
    if (i % 2 && bytes.length > 0) bytes[0] = i % 6;
    redis.deliver(channelOf("north"), bytes);
  }
  south.send("north", "still here");
  await north.hears("south: still here");
});

Deno.test("send() says full when a node does not take what is sent, and away when it is not known", async () => {
  await using all = await threeNodes({ ...QUICK, silentMs: 10_000 });
  const { north, south, connections } = all;
  assertEquals(north.send("nobody", "x"), "away");
  connections[1].freeze();
  const message = [new Uint8Array(1_000_000)];
  let taken = 0;
  while (north.links.send("south", "s", message) === "sent") taken++;
  assert(taken >= 64 && taken <= 68, `${taken} MB were taken`);
  let got = 0;
  south.onMessage = () => {
    got++;
    south.wake();
  };
  connections[1].thaw();
  await south.until(() => got === taken);
});

Deno.test("openLinks() sends again what got lost, also without traffic", async () => {
  await using all = await threeNodes();
  const { redis, north, south, west } = all;
  let lost = 0;
  redis.loses = (channel, message) =>
    channel === channelOf("south") && message.includes("secret") &&
    lost++ === 0;
  north.send("south", "secret");
  await south.hears("north: secret");
  assertEquals([lost, north.heard, west.heard], [2, [], []]);
});

Deno.test("openLinks() tells of an ended process, once, and ignores what a dropped node says", async () => {
  await using all = await threeNodes();
  const { redis, north, south, connections } = all;
  connections[2].end();
  await Promise.all([north.hears("gone west"), south.hears("gone west")]);
  assertEquals([...north.links.peers], ["south"]);
  north.links.drop("west");
  assertEquals(north.send("west", "hello"), "away");
  redis.deliver(channelOf("north"), beatOf("west"));
  await north.links.meet(["west"]);
  south.send("north", "on");
  await north.hears("south: on");
  assertEquals([...north.links.peers], ["south"]);
  assertEquals(north.heard, ["gone west", "south: on"]);
});

Deno.test("openLinks() tells that a frozen node is silent, not gone, and talks to it again", async () => {
  await using all = await threeNodes();
  const { north, south, connections } = all;
  connections[1].freeze();
  await north.hears("silent south");
  north.send("south", "are you there");
  connections[1].thaw();
  await south.hears("north: are you there");
  south.send("north", "yes");
  await north.hears("south: yes");
  connections[1].freeze();
  await north.hears("silent south", 2);
  connections[1].thaw();
  assertEquals(
    north.heard.filter((each) => !each.startsWith("silent")),
    ["south: yes"],
  );
});

Deno.test("openLinks() does not take a node that subscribes again in time for gone", async () => {
  let now = 1_000_000;
  const timed = { ...QUICK, goneMs: 500, settleMs: 2_000, now: () => now };
  await using all = await threeNodes(timed);
  const { redis, north, south, west, connections } = all;
  const threeLooks = async () => {
    const { looks } = redis;
    await until(() => redis.looks >= looks + 6);
  };
  for (let i = 1; i <= 3; i++) {
    connections[1].set(false);
    await threeLooks();
    now += 499;
    await threeLooks();
    north.send("south", `${i}`);
    connections[1].set(true);
    await south.hears(`north: ${i}`);
    now += 2_000;
    await threeLooks();
  }
  assert(!north.heard.includes("gone south"));
  connections[1].set(false);
  await threeLooks();
  now += 500;
  await Promise.all([north.hears("gone south"), west.hears("gone south")]);
  // It was only cut off.
  north.send("south", "kept");
  connections[1].set(true);
  await south.hears("north: kept");
  assert(north.links.peers.has("south"));
});

Deno.test("openLinks() proves no end while its own channel has no receiver", async () => {
  await using all = await threeNodes();
  const { redis, north, south } = all;
  redis.isBlind = true;
  const { looks } = redis;
  await until(() => redis.looks > looks + 30);
  assertEquals([north.heard, south.heard], [[], []]);
});

Deno.test("openLinks() tells when Redis is away and back, and loses nothing", async () => {
  await using all = await threeNodes();
  const { north, south, west, connections } = all;
  for (const each of connections) each.set(false);
  assertEquals(north.send("south", "x"), "sent");
  west.send("south", "y");
  for (const each of connections) each.set(true);
  await Promise.all([south.hears("north: x"), south.hears("west: y")]);
  assertEquals(north.heard, ["connected false", "connected true"]);
});

Deno.test("openLinks() says goodbye: its peers drop it without noise, after all it sent", async () => {
  await using all = await threeNodes();
  const { north, south, west } = all;
  for (let i = 0; i < 50; i++) west.send("south", `${i}`);
  await west[Symbol.asyncDispose]();
  await south.hears("west: 49");
  north.send("south", "on");
  await south.hears("north: on");
  assertEquals(
    [north, south].map(({ heard, links }) => [
      heard.filter((each) => !each.startsWith("west: ")),
      [...links.peers],
    ]),
    [[[], ["south"]], [["north: on"], ["north"]]],
  );
});

Deno.test("drop() forgets a node for ever, also one that lives and sends", async () => {
  await using all = await threeNodes();
  const { north, south, west } = all;
  north.links.drop("south");
  assertEquals(north.send("south", "x"), "away");
  south.send("north", "y");
  south.send("west", "z");
  await west.hears("south: z");
  await north.links.meet(["south"]);
  west.send("north", "on");
  await north.hears("west: on");
  assertEquals([[...north.links.peers], north.heard], [["west"], ["west: on"]]);
});

/** Three nodes that have met, and their connections. */
async function threeNodes(options: Partial<LinkOptions> = QUICK) {
  const redis = new FakeRedis();
  if (options.now) redis.now = options.now;
  const connections = [
    redis.connect(),
    redis.connect(),
    redis.connect(),
  ] as const;
  const north = await LinkNode.open(connections[0], "north", options);
  const south = await LinkNode.open(connections[1], "south", options);
  const west = await LinkNode.open(connections[2], "west", options);
  await north.links.meet(["south", "west"]);
  await south.links.meet(["north", "west"]);
  return {
    redis,
    connections,
    north,
    south,
    west,
    async [Symbol.asyncDispose]() {
      for (const node of [north, south, west]) {
        await node[Symbol.asyncDispose]();
      }
    },
  };
}

/** Pub/sub in memory, which may lose what is sent. */
class FakeRedis {
  readonly #connections: Connection[] = [];
  /** Returns whether a message gets lost on its way, though its receiver is counted. */
  loses = (_channel: string, _message: Buffer): boolean => false;
  /** Whether it counts no receivers at all. */
  isBlind = false;
  /** How many messages were published. */
  published = 0;
  /** How often receivers were counted. */
  looks = 0;
  now: () => number = () => performance.now();

  connect(): Connection {
    const connection = new Connection(this);
    this.#connections.push(connection);
    return connection;
  }

  /** Returns the number of receivers. */
  deliver(channel: string, message: Buffer): number {
    this.published++;
    const receivers = this.#connections.filter((each) => each.has(channel));
    if (!this.loses(channel, message)) {
      for (const receiver of receivers) receiver.push(Buffer.from(message));
    }
    return receivers.length;
  }

  count(channels: readonly string[]): readonly number[] {
    this.looks++;
    return channels.map((channel) =>
      this.#connections.filter((each) => !this.isBlind && each.has(channel))
        .length
    );
  }
}

/** The connection of a process to {@linkcode FakeRedis}. */
class Connection implements LinkRedis {
  readonly #redis: FakeRedis;
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  readonly #waiting: Buffer[] = [];
  readonly #held: (() => void)[] = [];
  #channel: string | undefined;
  #receive = (_message: Buffer) => {};
  #isFrozen = false;
  connected = true;
  since: number | undefined = -Infinity;

  constructor(redis: FakeRedis) {
    this.#redis = redis;
  }

  publish(channel: string, message: Buffer): Promise<number> {
    if (!this.connected) return Promise.reject(new Error("not connected"));
    const deliver = () => this.#redis.deliver(channel, message);
    if (!this.#isFrozen) return Promise.resolve(deliver());
    return new Promise((resolve) => this.#held.push(() => resolve(deliver())));
  }

  subscribe(channel: string, receive: (message: Buffer) => void) {
    this.#channel = channel;
    this.#receive = receive;
    return Promise.resolve();
  }

  numsub(channels: readonly string[]): Promise<readonly number[]> {
    if (!this.connected) return Promise.reject(new Error("not connected"));
    return Promise.resolve(this.#redis.count(channels));
  }

  onState(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether it subscribes to a channel. */
  has(channel: string): boolean {
    return this.connected && this.#channel === channel;
  }

  /** Takes a message in a later turn. */
  push(message: Buffer): void {
    this.#waiting.push(message);
    queueMicrotask(() => this.#next());
  }

  /** The process takes and sends nothing, but its connection stays. */
  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const send of this.#held.splice(0)) send();
    while (this.#waiting.length > 0) this.#next();
  }

  /** The process ends without a word. */
  end(): void {
    this.#listeners.clear();
    this.set(false);
  }

  /** The connection is lost, with what is on its way, or made again. */
  set(isConnected: boolean): void {
    this.connected = isConnected;
    this.since = isConnected ? this.#redis.now() : undefined;
    this.#waiting.length = 0;
    for (const listener of [...this.#listeners]) listener(isConnected);
  }

  #next(): void {
    if (this.#isFrozen || !this.connected) return;
    const message = this.#waiting.shift();
    if (message !== undefined) this.#receive(message);
  }
}
