import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  NOTIFICATIONS,
  SERVER_EVENTS,
} from "../../protocol/mod.ts";
import { hostilePayloads, seeded } from "../support/wire/hostile_payloads.ts";
import { LeanClient } from "./lean_client.ts";
import { MIB, pool, Victim } from "./victim.ts";

/** Offices named in packets. */
const FUZZ_OFFICES = ["fuzz 1", "fuzz 2", "fuzz 3"];
const PACKETS = 100_000;
const FUZZERS = 12;
const SEED = 20260401;

const corpus = (await Deno.readTextFile(
  new URL("corpus/packets.txt", import.meta.url),
)).split("\n").filter((line) => line !== "");

/** A client that is a member of an office, and answers every request. */
async function fuzzer(url: string, index: number): Promise<LeanClient> {
  const client = await LeanClient.connect(url);
  const office = FUZZ_OFFICES[index % FUZZ_OFFICES.length] ?? "";
  const role = index % 2 === 0 ? "agent" : "computer";
  await client.join(role, role, office); // the seat may be taken: then it is an outsider
  return client;
}

const LARGE = [
  `42/smcp,1["client:tool_call","${"x".repeat(70_000)}"]`,
  `42/smcp,1["x",${"[".repeat(5000)}${"]".repeat(5000)}]`,
  `42/smcp,1["x"${",0".repeat(5000)}]`,
];

Deno.test("every packet of the corpus, and an oversized one, at most closes its sender", async () => {
  const flags = ["--no-limits", "--max-message-bytes=65536"];
  await using victim = await Victim.start(...flags);
  for (const [i, line] of [...corpus, ...LARGE].entries()) {
    const client = await fuzzer(victim.url, i);
    client.send(toFrame(line));
    await client.barrier();
    await client.close();
  }
  await victim.empty();
  await victim.noGhosts(FUZZ_OFFICES);
  await victim.healthy();
});

Deno.test("100,000 random packets: the server survives, sends every requested ack, and keeps nothing", async () => {
  await using victim = await Victim.start("--no-limits");
  const witness = await LeanClient.connect(victim.url);
  const partner = await LeanClient.connect(victim.url);
  assert(await witness.join("agent", "agent", "witness"));
  assert(await partner.join("computer", "computer", "witness"));
  const next = packetFuzzer(corpus, SEED);
  const heaps: number[] = [];
  const total = { asked: 0, answered: 0 };
  const QUARTERS = 4;
  for (let quarter = 1; quarter <= QUARTERS; quarter++) {
    let left = PACKETS / QUARTERS;
    await pool(FUZZERS, FUZZERS, async (i) => {
      let client = await fuzzer(victim.url, i);
      while (left > 0) {
        const acks: Promise<string | undefined>[] = [];
        for (let n = 0; n < 20 && left > 0; n++) {
          left--;
          const packet = next();
          if (packet.kind === "event" && packet.ack) {
            acks.push(client.askRaw(packet.body));
          } else if (packet.kind === "event") {
            client.send(`42/smcp,${packet.body}`);
          } else {
            // It may close the connection: what came before is answered first.
            await client.barrier();
            client.send(packet.frame);
            await client.barrier();
          }
          if (!client.alive) break;
        }
        const answers = await Promise.all(acks);
        total.asked += answers.length;
        // Packets that were in transit when the connection closed have no answer.
        if (client.alive) {
          total.answered += answers.filter((a) => a !== undefined).length;
        } else {
          total.answered += answers.length;
          await client.closed;
          client = await fuzzer(victim.url, i);
        }
      }
      await client.close();
    });
    heaps.push((await victim.memory()).heap);
  }
  assertEquals(total.answered, total.asked);
  const call = { agent: "agent", req_id: "1", computer: "computer" };
  assertEquals(
    await witness.ask("client:get_tools", call),
    '[{"content":[]}]',
  );
  assertEquals(partner.heard, 0, "nothing of another office was heard");
  await Promise.all([witness.close(), partner.close()]);
  await victim.empty();
  await victim.noGhosts([...FUZZ_OFFICES, "witness"]);
  await victim.healthy();
  const grown = (heaps.at(-1) ?? NaN) - (heaps[0] ?? NaN);
  assert(grown < 4 * MIB, `the heap grew by ${grown / MIB} MiB`);
});

/** A packet of the fuzzer: the arguments of an event, with or without an ack, or a whole frame. */
type FuzzPacket =
  | { readonly kind: "event"; readonly body: string; readonly ack: boolean }
  | {
    readonly kind: "frame";
    readonly frame: string | Uint8Array<ArrayBuffer>;
  };

const NAMES = ["agent", "computer", "other", ""];

/**
 * Creates packets with the structure of the wire, deterministic for a seed: events of the
 * protocol with payloads that are right, nearly right or absurd, and now and then a frame of the
 * corpus, as it is or broken.
 *
 * @param corpus lines of `corpus/packets.txt`
 */
function packetFuzzer(
  corpus: readonly string[],
  seed: number,
): () => FuzzPacket {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T =>
    list[Math.floor(random() * list.length)] as T;
  const events = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
    ...Object.keys(NOTIFICATIONS),
    "client:made_up",
    "error",
    "__proto__",
  ];
  const valid = () => ({
    agent: pick(NAMES),
    req_id: `${Math.floor(random() * 50)}`,
    computer: pick(NAMES),
    tool_name: "echo",
    params: { a: [1, { b: "c" }] },
    timeout: 1 + Math.floor(random() * 30),
    mcp_server: "files",
    uri: "dpe://host/doc",
    office_id: pick(FUZZ_OFFICES),
    role: pick(["agent", "computer"]),
    name: pick(NAMES),
  });
  const wrongs = Array.from(
    { length: 50 },
    (_, i) => hostilePayloads(valid(), 60, seed + i),
  ).flat();
  const wrong = () => pick(wrongs);
  const mutated = (text: string): string => {
    const at = Math.floor(random() * text.length);
    const end = at + Math.floor(random() * 4);
    switch (Math.floor(random() * 4)) {
      case 0:
        return text.slice(0, at) + text.slice(end);
      case 1:
        return text.slice(0, end) + text.slice(at);
      case 2:
        return text.slice(0, at) + String.fromCharCode(random() * 0xffff) +
          text.slice(at + 1);
      default:
        return text.slice(0, at) + pick(corpus) + text.slice(end);
    }
  };
  return () => {
    const dice = random();
    if (dice < 0.05) {
      return { kind: "frame", frame: toFrame(pick(corpus)) };
    }
    if (dice < 0.1) {
      return { kind: "frame", frame: mutated(pick(corpus)) };
    }
    const payloads = dice < 0.5
      ? [valid()]
      : dice < 0.95
      ? [wrong()]
      : [wrong(), wrong(), wrong()];
    const body = JSON.stringify([pick(events), ...payloads]);
    return { kind: "event", body, ack: random() < 0.7 };
  };
}

/** A line of the corpus: text, or bytes where it starts with `\x`. */
function toFrame(line: string): string | Uint8Array<ArrayBuffer> {
  if (!line.startsWith("\\x")) return line;
  return Uint8Array.from(
    line.slice(2).split("\\x"),
    (hex) => parseInt(hex, 16),
  );
}
