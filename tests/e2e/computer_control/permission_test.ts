import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { KeyFile } from "../../../computer/approvals/key_file.ts";
import { ControlledComputer } from "../../../computer/cli/control/controlled.ts";
import { PersonsDevices } from "../../../computer/cli/control/persons_devices.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { partsOf } from "../../../computer/tool_host.ts";
import { scratch } from "../../support/scratch.ts";

const PERMISSION = {
  id: "abcd1234",
  given: "always",
  agent: "planner",
  bundleId: "files",
  tool: "write",
  covers: "anything",
  definition: "d",
  configuration: "c",
} as const;

Deno.test("rules remove fails where the file keeps the permission, which would be back with the next start", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const keys = await KeyFile.open(file);
  await keys.save({ permissions: [PERMISSION] });
  await keys.close();
  const devices = new PersonsDevices(file, () => "pc");
  await devices.load();
  await using computer = new SmcpComputer({
    url: "http://127.0.0.1:1",
    name: "pc",
    servers: {},
    permissions: devices.permissions,
  });
  const office = "north";
  const target = new ControlledComputer({ computer, devices, office });
  await partsOf(computer).calls.confirmations.ready();
  assertEquals((await target.rules()).permissions.length, 1);
  await Deno.remove(file);
  await Deno.mkdir(file); // nothing replaces a folder
  await assertRejects(
    () => target.removePermission("abcd"),
    Error,
    "cannot be written",
  );
  assertEquals((await target.rules()).permissions, [], "until it ends");
  await devices.close();
});
