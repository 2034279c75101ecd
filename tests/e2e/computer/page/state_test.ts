import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import { argumentsOf } from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { startOAuth, visit } from "../../../support/computer/oauth.ts";
import { openPage, pageLink } from "../../../support/computer/page_client.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { scratch } from "../../../support/scratch.ts";
import { OFFICE, startOffice } from "../../../support/office.ts";

const MAIN = fileURLToPath(new URL("../../../../main.ts", import.meta.url));
const TIME = { timeout: 120_000 };
const auto = { default_tool_meta: { auto_apply: true } };

Deno.test(
  "--ui: the page shows connection, office, MCP servers, problems with remedies, and tools",
  TIME,
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: {
        files: fixture({ only: ["echo"] }, {
          ...auto,
          forbidden_tools: ["no_such_tool"],
        }),
        broken: fixture({ start: "exit" }),
        "my notes": fixture({ only: ["echo"] }, {
          tool_meta: { echo: { alias: "note" } },
        }),
        off: fixture({}, { disabled: true }),
      },
    });
    await using running = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const link = await pageLink(running);
    await using page = await openPage(link);
    const { computer } = await page.until(({ computer }) =>
      computer.tools.length === 2 && computer.office === OFFICE &&
      computer.servers.some(({ does, bundleId }) =>
        bundleId === "broken" && does.includes("next attempt")
      )
    );
    const { name, url, connection, protocol, problems } = computer;
    assertEquals(
      { name, url, connection, protocol, problems },
      {
        name: "pc",
        url: office.url,
        connection: "connected",
        protocol: "0.2",
        problems: [],
      },
    );
    assertEquals(
      computer.servers.map(({ label, tools }) => [label, tools]),
      [["files", 1], ["broken", 0], ["my notes (my_notes)", 1], ["off", 0]],
    );
    const [files, broken, notes, off] = computer.servers;
    assertEquals([files?.state, files?.does], ["running", "is running"]);
    assertMatch(files?.problems.join() ?? "", /no_such_tool/);
    assertMatch(
      broken?.problems.join() ?? "",
      /exited with code 7.*; run its command by hand to see why$/,
    );
    assertMatch(broken?.does ?? "", /the next attempt to start it is at 20/);
    assertEquals([notes?.problems, off?.state], [[], "disabled"]);
    assertEquals(
      computer.tools.map(({ name, bundleId }) => [name, bundleId]),
      [["echo", "files"], ["note", "my_notes"]],
    );
    const { body } = await page.ask("/tools");
    assertEquals(
      body.tools.map(({ name }: { name: string }) => name),
      ["echo", "note"],
    );
    assert(body.tools[0].params_schema, JSON.stringify(body.tools[0]));
    await running.stop();
    const lines = running.lines.filter((line) => line.includes(link.token));
    assertEquals(lines.length, 1, "the token is in the link alone");
  },
);

Deno.test(
  "--ui: the page lists calls while they run and when they ended, with their contents",
  TIME,
  async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: {
        files: fixture({ only: ["echo", "fail", "slow", "big"] }, auto),
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui"],
    });
    const link = await pageLink(computer);
    await using page = await openPage(link);
    await page.until(({ computer }) =>
      computer.tools.length === 4 && computer.office === OFFICE
    );
    const { agent } = office;
    await agent.callTool("pc", "echo", { text: "hello" });
    await agent.callTool("pc", "fail", {});
    await agent.callTool("pc", "big", { bytes: 400_000 });
    const cancel = new AbortController();
    const slow = agent.callTool("pc", "slow", {}, { signal: cancel.signal });
    slow.catch(() => {});
    const { calls } = await page.until(({ calls }) => calls.length === 4);
    assertEquals(
      calls.map(({ key, agent, tool, outcome }) => [key, agent, tool, outcome]),
      [
        [1, "planner", "echo", "ok"],
        [2, "planner", "fail", "tool error"],
        [3, "planner", "big", "ok"],
        [4, "planner", "slow", undefined],
      ],
    );
    assert(
      calls.every(({ beganAt, endedAt = Infinity }) => beganAt <= endedAt),
    );
    cancel.abort();
    await slow.catch(() => {});
    const { calls: then } = await page.until(({ calls }) =>
      calls[3]?.outcome !== undefined
    );
    assertEquals(then[3]?.outcome, "cancelled");

    const { body: echo } = await page.ask("/calls/1");
    assertEquals([echo.params, echo.result.content, echo.isClipped], [
      { text: "hello" },
      [{ type: "text", text: "hello" }],
      false,
    ]);
    const { body: big } = await page.ask("/calls/3");
    assertEquals(big.isClipped, true);
    assert(big.result.content[0].text.length < 300_000);

    // Whoever comes later gets the same.
    await using other = await openPage(link);
    const { calls: again } = await other.until(() => true);
    assertEquals(again, then);
  },
);

Deno.test(
  "up --ui: the page of the Computer beside a Server of its own",
  TIME,
  async () => {
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo"] }, auto) },
    });
    await using up = start(
      Deno.execPath(),
      [
        ...argumentsOf("computer", []).with(-1, MAIN),
        ...["up", "--port", "0", "--ui-port", "0", "--name", "pc"],
        ...["--config", config.file],
      ],
    );
    await using page = await openPage(await pageLink(up));
    const { computer } = await page.until(({ computer }) =>
      computer.office === "home" && computer.tools.length === 1
    );
    assertEquals(computer.connection, "connected");
  },
);

Deno.test(
  "--ui: the page has the address where a person authorizes the Computer, until that is done",
  TIME,
  async () => {
    await using office = await startOffice();
    await using server = await startOAuth();
    await using folder = await scratch();
    await using config = await configFile({
      servers: {
        a: {
          type: "streamable",
          server_parameters: { url: `${server.origin}/mcp` },
        },
      },
    });
    await using computer = runComputer(office, config.file, {
      flags: ["--ui", "--oauth-dir", folder.path],
    });
    await using page = await openPage(await pageLink(computer));
    const { computer: { servers: [a] } } = await page.until(({ computer }) =>
      computer.servers[0]?.authorizeAt !== undefined
    );
    assertMatch(a?.authorizeAt ?? "", /^http:.*redirect_uri=/);
    await visit(a?.authorizeAt ?? "");
    const { computer: now } = await page.until(({ computer }) =>
      computer.servers[0]?.state === "running"
    );
    assertEquals(now.servers[0]?.authorizeAt, undefined);
  },
);
