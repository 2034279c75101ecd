import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hostname } from "node:os";
import { join } from "node:path";
import { runMain } from "../../support/command.ts";
import { confirmRequest } from "../../support/approvals/confirm_request.ts";
import {
  type ApprovalsRelay,
  serveApprovals,
} from "../../support/control/relay.ts";
import { randomBytes } from "../../../shared/approvals/bytes.ts";
import { linkText } from "../../../shared/approvals/pairing.ts";
import { scratch } from "../../support/scratch.ts";
import {
  assertRestored,
  onTerminal,
  startOnTerminal,
  type Terminal,
} from "../../support/terminal/terminal.ts";

const startApprove = (
  keys: string,
  ...args: readonly string[]
): Promise<Terminal> =>
  startOnTerminal("computer", ["approve", "--approve-keys", keys, ...args], {
    columns: 120,
    rows: 40,
  });

/** Pairs a program at a terminal with a Computer. */
async function paired(relay: ApprovalsRelay, keys: string): Promise<Terminal> {
  const open = await relay.approvals.pair({
    page: `${relay.url}/approve`,
    url: relay.url,
    office: "north",
    computer: "pc",
  });
  const terminal = await startApprove(keys, open.link);
  const { all } = await terminal.until(/runs: \d{6}/);
  const [, digits = ""] = /runs: (\d{6})/.exec(all) ?? [];
  assertEquals(await open.type(digits), "paired");
  await terminal.until("pc: connected; nothing is asked");
  return terminal;
}

const ask = (
  relay: ApprovalsRelay,
  params: Record<string, unknown>,
  signal = new AbortController().signal,
) =>
  Promise.resolve(
    relay.approvals.confirm(confirmRequest({ tool: "write", params }), signal),
  );

onTerminal(
  "smcp-computer approve pairs, shows a question whole, and its yes and its no count at the Computer",
  async () => {
    await using folder = await scratch();
    const keys = join(folder.path, "keys.json");
    await using relay = await serveApprovals(
      join(folder.path, "computer.json"),
    );
    await using terminal = await paired(relay, keys);
    const by = `on "${hostname()}"`;
    const first = ask(relay, { path: "/srv/a" });
    await terminal.until(/"\/srv\/a"[^]*\(y\)/);
    await terminal.until(/y, |Enter/);
    await terminal.type("y");
    const yes = await first;
    assertEquals(yes, { answer: "once", by });
    const second = ask(relay, { path: "/srv/b" });
    await terminal.until(/"\/srv\/b"[^]*\(n\)[^]*Enter/);
    await terminal.type("n");
    await terminal.until(/◆ +Why not\?/);
    await terminal.type("ask me tomorrow\r");
    assertEquals(await second, { answer: "no", by, reason: "ask me tomorrow" });
  },
);

onTerminal(
  "smcp-computer approve withdraws what was answered elsewhere, and says how it ended",
  async () => {
    await using folder = await scratch();
    await using relay = await serveApprovals(
      join(folder.path, "computer.json"),
    );
    await using terminal = await paired(relay, join(folder.path, "keys.json"));
    const elsewhere = new AbortController();
    void ask(relay, { path: "/srv/c" }, elsewhere.signal);
    await terminal.until(/"\/srv\/c"/);
    elsewhere.abort("answered at the terminal");
    await terminal.until("pc: a question has ended: answered at the terminal");
    const { all } = terminal.screen();
    assert(!all.includes('"/srv/c"'), all);
    await terminal.type("\x03");
    assertEquals(await assertRestored(terminal), 0);
  },
);

onTerminal(
  "smcp-computer approve keeps its keys for its user alone, answers again after a restart, and forgets a Computer",
  async () => {
    await using folder = await scratch();
    const keys = join(folder.path, "keys.json");
    await using relay = await serveApprovals(
      join(folder.path, "computer.json"),
    );
    await using first = await paired(relay, keys);
    await first.type("\x03");
    assertEquals((await first.end).code, 0);
    assertEquals((Deno.statSync(keys).mode ?? 0) & 0o777, 0o600);
    await using again = await startApprove(keys);
    await again.until("pc: connected");
    const answer = ask(relay, { path: "/srv/d" });
    await again.until(/"\/srv\/d"[^]*\(y\)[^]*Enter/);
    await again.type("y");
    assertEquals(Object(await answer).answer, "once");
    await relay.approvals.remove(hostname());
    // Its open poll is refused; between two of them its token is unknown.
    await again.until(/pc: (refuses this program|not connected)/);
    await again.type("\x03").catch(() => {});
    await again.end;
    const args = ["approve", "--approve-keys", keys, "--forget", "pc"];
    const forgot = await runMain("computer", args);
    assertEquals(forgot.code, 0, forgot.stderr);
    assertStringIncludes(forgot.stdout, "Forgot pc");
    assertEquals(JSON.parse(Deno.readTextFileSync(keys)).computers, []);
  },
);

onTerminal(
  "smcp-computer approve says when it is not connected, and when it is again",
  async () => {
    await using folder = await scratch();
    const keys = join(folder.path, "keys.json");
    await using relay = await serveApprovals(
      join(folder.path, "computer.json"),
    );
    await using paired1 = await paired(relay, keys);
    await paired1.type("\x03");
    await paired1.end;
    relay.isAway = true;
    await using terminal = await startApprove(keys);
    await terminal.until("pc: not connected, tries again: ");
    relay.isAway = false;
    await terminal.until(/pc: connected/);
  },
);

Deno.test("smcp-computer approve refuses a link to http elsewhere, one that is none, and a pipe", async () => {
  await using folder = await scratch();
  const keys = join(folder.path, "keys.json");
  const run = (...args: string[]) =>
    runMain("computer", ["approve", "--approve-keys", keys, ...args]);
  const pipe = await run();
  assertEquals(pipe.code, 2);
  assertStringIncludes(pipe.stderr, "approve asks at a terminal");
  const noLink = await run("https://smcp.example.com/approve");
  assertEquals(noLink.code, 2);
  assertStringIncludes(noLink.stderr, "no link of `smcp-computer pair`");
  const open = linkText("https://smcp.example.com/approve", {
    url: "http://smcp.example.com",
    office: "north",
    computer: "pc",
    id: randomBytes(16),
    secret: randomBytes(16),
  });
  const plain = await run(open);
  assertEquals(plain.code, 2);
  assertStringIncludes(plain.stderr, "the Server needs https");
  const none = await run("--forget", "pc");
  assertEquals(none.code, 1);
  assertStringIncludes(none.stderr, 'there is no Computer "pc" to forget');
});
