import { assert, assertRejects } from "@std/assert";
import { stopped } from "../../../support/processes.ts";
import { startBoundedServer } from "../../../support/server/bounded_server.ts";

Deno.test({
  name: "bystanders of an idle Server with little memory are unharmed",
  timeout: 60_000,
}, async () => {
  await using server = await startBoundedServer();
  await server.unharmed();
  assert(await server.peakMiB() > 0 || Deno.build.os !== "linux");
});

Deno.test({
  name: "bystanders notice when the Server is blocked for more than a second",
  ignore: Deno.build.os === "windows",
  timeout: 60_000,
}, async () => {
  await using server = await startBoundedServer();
  const { pid } = server.command;
  Deno.kill(pid, "SIGSTOP");
  await stopped(pid);
  const until = performance.now() + 4000; // a bystander's call may begin late
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  Deno.kill(pid, "SIGCONT");
  await assertRejects(() => server.unharmed(), Error, "harmed");
});

Deno.test({
  name: "bystanders notice when the Server ends",
  timeout: 60_000,
}, async () => {
  await using server = await startBoundedServer();
  server.command.kill("SIGTERM");
  await server.command.exited;
  await assertRejects(() => server.unharmed(), Error, "harmed");
});
