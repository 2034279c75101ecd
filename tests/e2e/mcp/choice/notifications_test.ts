/**
 * Notifications of changes by a sign-in: of the chosen Computers, and nothing that shows that others are there.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { CLIENTS, ERAS, sdkClient } from "../../../support/mcp/clients.ts";
import { bySignIn, signInGateway } from "../../../support/mcp/sign_ins.ts";
import { OFFICE, startOffice } from "../../../support/office.ts";

const CHOICES = { phone: { only: ["pc"] }, later: { except: ["vault"] } };

/** An office with two real Computers that have the same MCP server. */
async function startTwo() {
  const office = await startOffice({
    server: { gateway: signInGateway(CHOICES) },
  });
  await office.agent.leave();
  const add = (name: string) =>
    office.addComputer(name, {
      servers: { fix: fixtureHere({ prompts: true }) },
    });
  const pc = await add("pc");
  const vault = await add("vault");
  const url = new URL("/mcp/north", office.url);
  return {
    add,
    pc,
    vault,
    reach: (id: keyof typeof CHOICES) => bySignIn(url, id),
    /** Of a client with a key, which sees all Computers. */
    whole: { url },
    [Symbol.asyncDispose]: () => office.close(),
  };
}

const note = (computer: string) =>
  `a2c://${computer}/resource/fix/${encodeURIComponent("note://1")}`;
const desktop = (computer: string) => `a2c://${computer}/desktop`;

for (const era of ERAS) {
  for (const id of ["phone", "later"] as const) {
    Deno.test(`${era}: a sign-in (${id}) is notified of the resources of chosen Computers alone`, async () => {
      await using office = await startTwo();
      await using ann = await sdkClient(office.reach(id), era);
      await using key = await sdkClient(office.whole, era);
      await ann.watch(note("vault"), desktop("vault"), note("pc"));
      await key.watch(note("vault"), note("pc"));
      for (const computer of [office.vault, office.pc]) {
        await computer.callTool("subscribed", { count: 1 });
      }
      await office.vault.callTool("touch", { uri: "note://1" });
      await key.told(note("vault"));
      await office.pc.callTool("touch", { uri: "note://1" });
      await ann.told(note("pc"));
      const changed = ann.notices.filter((each) => each.includes("://"));
      assertEquals(changed, [note("pc")]);
    });

    Deno.test(`${era}: a sign-in (${id}) is notified of other lists of chosen Computers alone`, async () => {
      await using office = await startTwo();
      await using ann = await sdkClient(office.reach(id), era);
      await using key = await sdkClient(office.whole, era);
      const count = (list: string) =>
        ann.notices.filter((each) => each === list).length;
      for (const client of [ann, key]) {
        await client.watch();
        await client.listPrompts();
        await client.listResources();
      }
      for (const list of ["prompts", "resources"] as const) {
        const counts = { ann: count(list), key: key.notices.length };
        const all = () => key.notices.filter((each) => each === list).length;
        const before = all();
        await office.vault.callTool(`change_${list}`);
        await key.told(list, before + 1);
        assertEquals(count(list), counts.ann, list);
        await office.pc.callTool(`change_${list}`);
        await ann.told(list, counts.ann + 1);
      }
    });
  }
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a sign-in is not notified of tools of a Computer that is not chosen, however it changes`, async () => {
    await using office = await startTwo();
    await using ann = await connect(office.reach("phone"));
    await using key = await connect(office.whole);
    await using later = await connect(office.reach("later"));
    const all = [ann, key, later];
    await Promise.all(all.map((client) => client.listening()));
    const names = async () =>
      new Set(
        (await later.tools()).map(({ name }) => name.replace(/__.*/, "")),
      );
    for (const client of all) await client.tools();
    const changes: (() => Promise<unknown>)[] = [
      () => office.vault.stopServer("fix"),
      () => office.vault.startServer("fix"),
      () => office.vault.leave(),
      () => office.vault.join(OFFICE),
    ];
    for (const change of changes) {
      const before = key.changes();
      await change();
      await key.changed(before + 1);
    }
    assertEquals([ann.changes(), later.changes()], [0, 0]);

    // A Computer that comes later is there for who has chosen those too.
    const before = key.changes();
    await office.add("new");
    await later.changed(1);
    await key.changed(before + 1);
    assertEquals(await names(), new Set(["pc", "new"]));
    assertEquals(ann.changes(), 0);

    // One that leaves and comes back under its name stays chosen.
    await office.pc.leave();
    await ann.changed(1);
    assertEquals(await ann.tools(), []);
    await office.pc.join(OFFICE);
    await ann.changed(2);
    assertEquals((await ann.call("pc__echo", { text: "hi" })).content, [
      { type: "text", text: "hi" },
    ]);
    for (const client of all) await client.terminate();
  });
}
