/** The page and requests of devices through the real Server, over its wire. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { approvals as withApprovals } from "@a2c-smcp/server/approvals";
import { join } from "node:path";
import { Approvals } from "../../../computer/approvals/approvals.ts";
import { consoleTest, openTab } from "../support/driven.ts";
import {
  askDevices,
  NARROW,
  openPairing,
  pairTab,
  tap,
} from "../support/approving.ts";
import { startWireServer } from "../../support/server/wire_server.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

consoleTest(
  "the Server serves the page, and passes a yes to the Computer of its office",
  async () => {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "smcp-approving-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    const server = stack.use(
      await startWireServer({ approvals: withApprovals() }),
    );
    const approvals = stack.use(
      await Approvals.open(join(folder, "keys.json"), { name: () => "laptop" }),
    );
    const raw = stack.use(await connectRaw(server.url));
    raw.handle("client:device", async (payload, ack) => {
      const { body, req_id } = Object(payload);
      const message = Uint8Array.from(Buffer.from(body, "base64"));
      const answer = await approvals.handle(message);
      ack({ body: Buffer.from(answer).toString("base64"), req_id });
    });
    const [ok] = await raw.request("server:join_office", {
      role: "computer",
      name: "laptop",
      office_id: "north",
      devices: approvals.verifiers,
    });
    assert(ok);
    const update = () =>
      raw.ask("server:update_devices", {
        computer: "laptop",
        devices: approvals.verifiers,
      });
    stack.defer(approvals.onVerifiers(() => void update()));

    const tab = stack.use(await openTab({ size: NARROW }));
    const { page } = tab;
    const pairing = await openPairing(approvals, `${server.url}/approve`);
    await update();
    await pairTab(page, pairing);
    await page.getByText("Nothing to decide").waitFor();
    const asked = askDevices(approvals, {});
    await tap(page, /^Yes, this once$/);
    assertEquals(await asked.answer, { answer: "once", by: 'on "Pixel"' });
    await page.getByText("Yes: write_file may run.").waitFor();
  },
);
