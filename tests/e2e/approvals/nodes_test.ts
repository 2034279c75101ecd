/** Nodes of one cluster with approvals, without, and of an older build. */
import { assertEquals } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import {
  answerOf,
  newDevice,
  postDevice,
  RelayedComputer,
} from "../../support/approvals/relayed.ts";
import { Bus } from "../../support/cluster/bus.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

/** How the nodes of a test are. */
const NODES = ["with", "also with", "without", "older"] as const;
type NodeName = typeof NODES[number];

async function startNodes() {
  const bus = new Bus();
  bus.older.add("older");
  const stack = new AsyncDisposableStack();
  const urls = new Map<NodeName, string>();
  for (const name of NODES) {
    const options = name.endsWith("with") ? { approvals: approvals() } : {};
    const { server, url } = await bus.serve(name, options);
    stack.defer(() => server.close({ graceMs: 0 }));
    urls.set(name, url);
  }
  const at = (name: NodeName) => urls.get(name) ?? "";
  return { bus, at, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

Deno.test("nodes with approvals, without and of an older build answer each device at once: by its Computer, or with 404", async () => {
  await using nodes = await startNodes();
  const phone = await newDevice();
  for (const home of NODES) {
    for (const place of NODES) {
      const office = `${home}, ${place}`;
      // Its first member makes it the home.
      await using agent = await joinRaw(
        nodes.at(home),
        "agent",
        "planner",
        office,
      );
      assertEquals(nodes.bus.homeOf(office), home);
      await using computer = await RelayedComputer.join(
        nodes.at(place),
        [phone],
        { office },
      );
      await agent.next("notify:enter_office");
      const has = home.endsWith("with");
      const knows = has && place !== "older";
      const ask = async (node: NodeName) => {
        const path = `/approve/v1/${encodeURIComponent(office)}/laptop`;
        const answer = await postDevice(nodes.at(node), phone.token, "x", {
          path,
        });
        const { status, text } = await answerOf(answer);
        return status === 200 ? text : status;
      };
      const expected = (isKnown: boolean) =>
        NODES.map((node) =>
          isKnown && node.endsWith("with") ? "yes to x" : 404
        );
      const answers = async () => {
        const all = [];
        for (const node of NODES) all.push(await ask(node));
        return all;
      };
      assertEquals(await answers(), expected(knows), office);
      // A Computer at an older node may give its devices later; elsewhere it finds that there are no approvals.
      const updated = Object(await computer.update([phone]));
      assertEquals(has ? updated.devices : updated.code, has ? 1 : 400);
      assertEquals(await answers(), expected(has), office);
      assertEquals(agent.heard, [], "nobody sees a device");
    }
  }
});
