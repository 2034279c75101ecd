import { assert, assertEquals } from "@std/assert";
import { LeanClient } from "./support/lean_client.ts";
import {
  FUZZ_OFFICES,
  packetFuzzer,
  toFrame,
} from "./support/packet_fuzzer.ts";
import { mib, pool, Victim } from "./support/victim.ts";

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

Deno.test("every packet of the corpus at most closes its sender", async () => {
  await using victim = await Victim.start("--no-limits");
  for (const [i, line] of corpus.entries()) {
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
  const rows: Record<string, string | number>[] = [];
  const total = { asked: 0, answered: 0, closed: 0 };
  const QUARTERS = 4;
  for (let quarter = 1; quarter <= QUARTERS; quarter++) {
    const began = performance.now();
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
          total.closed++;
          await client.closed;
          client = await fuzzer(victim.url, i);
        }
      }
      await client.close();
    });
    const { heap, rss } = await victim.memory();
    rows.push({
      packets: quarter * PACKETS / QUARTERS,
      seconds: ((performance.now() - began) / 1000).toFixed(1),
      "acks asked": total.asked,
      "connections closed": total.closed,
      "heap, MiB": mib(heap),
      "RSS, MiB": mib(rss),
    });
  }
  console.table(rows);
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
  const growth = Number(rows.at(-1)?.["heap, MiB"]) -
    Number(rows[0]?.["heap, MiB"]);
  assert(growth < 4, `the heap grew by ${growth} MiB`);
});
