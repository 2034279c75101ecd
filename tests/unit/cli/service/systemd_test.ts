import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { RunProgram } from "../../../../cli/service/manager.ts";
import { systemd } from "../../../../cli/service/systemd.ts";

/** Answers every program with this end. */
const says = (stderr: string): RunProgram => () =>
  Promise.resolve({ code: 1, stdout: "", stderr });

const check = (run: RunProgram, isBooted: boolean) =>
  systemd("smcp-server", { config: "/c", user: "ada", isBooted }, run).check();

/** What systemctl says without a session, in several versions. */
const WITHOUT_SESSION = [
  "Failed to connect to bus: No medium found",
  "Failed to connect to bus: $DBUS_SESSION_BUS_ADDRESS and $XDG_RUNTIME_DIR not defined (consider using --machine=<user>@.host --user to connect to bus of other user)",
  "Failed to connect to user scope bus via local transport: No such file or directory",
];

for (const stderr of WITHOUT_SESSION) {
  Deno.test(`systemd() explains "${stderr.slice(0, 60)}"`, async () => {
    const error = await assertRejects(() => check(says(stderr), true));
    const { message } = error as Error;
    assertMatch(message, /^you have no session of systemd \(Failed to connect/);
    assertMatch(
      message,
      /not by su or sudo, .*"loginctl enable-linger ada" and "export XDG_RUNTIME_DIR=\/run\/user\/\$\(id -u\)"$/,
    );
  });
}

Deno.test("systemd() tells a container from a user without a session", async () => {
  for (const stderr of WITHOUT_SESSION) {
    const error = await assertRejects(() => check(says(stderr), false));
    assertMatch(
      String(error),
      /systemd does not run here, as in most containers/,
    );
  }
});

Deno.test("systemd() passes on what it does not know", async () => {
  const error = await assertRejects(() => check(says("Odd.\nMore."), true));
  assertEquals(String(error), 'Error: "systemctl --user" failed: Odd.');
});
