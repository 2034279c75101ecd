import { assert, assertRejects } from "@std/assert";
import { startBoundedServer } from "../../../support/server/bounded_server.ts";

Deno.test({
  name: "bystanders of an idle Server with little memory are unharmed",
}, async () => {
  await using server = await startBoundedServer();
  await server.unharmed();
  assert(await server.peakMiB() > 0 || Deno.build.os !== "linux");
});

Deno.test({
  name: "bystanders notice when the Server is blocked for more than a second",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using server = await startBoundedServer();
  const { pid } = server.command;
  Deno.kill(pid, "SIGSTOP");
  await server.bystanders.harmed();
  Deno.kill(pid, "SIGCONT");
  await assertRejects(() => server.unharmed(), Error, "harmed");
});

Deno.test({
  name: "bystanders notice when the Server ends",
}, async () => {
  await using server = await startBoundedServer();
  server.command.kill("SIGTERM");
  await server.command.exited;
  await assertRejects(() => server.unharmed(), Error, "harmed");
});
