import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import {
  assertRestored,
  ON_TERMINAL,
  startTerminal,
} from "../../support/terminal/terminal.ts";

Deno.test(
  "check asks for inputs, shows each MCP server when it runs or fails, and a partial report on Ctrl-C",
  ON_TERMINAL,
  async () => {
    const files = fixture({ only: ["environment"] });
    await using config = await configFile({
      inputs: [{
        id: "token",
        type: "promptString",
        description: "Key of the shop",
        password: true,
      }],
      servers: {
        hangs: {
          type: "stdio",
          server_parameters: { command: "sleep", args: ["1000"] },
        },
        gone: {
          type: "stdio",
          server_parameters: { command: "no-such-program" },
        },
        files: {
          ...files,
          server_parameters: {
            ...files.server_parameters,
            env: { ...files.server_parameters.env, TOKEN: "${input:token}" },
          },
        },
      },
    });
    await using check = await startTerminal(
      Deno.execPath(),
      argumentsOf("computer", ["check", "--config", config.file]),
      { columns: 120, env: { NO_COLOR: "1" } },
    );
    await check.until(({ all, cursor }) =>
      all.includes('Key of the shop (input "token")') && !cursor.shown
    );
    await check.type("hunter2\r");
    const { all } = await check.until(({ all }) =>
      /^✓ files +stdio +running +1 tool/m.test(all) &&
      /^✗ gone +stdio +failed/m.test(all) &&
      /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] hangs {2}starting, \d+\.\d s$/m.test(all)
    );
    assertMatch(all, /^ {4}tools: environment$/m);
    await check.type("\x03");
    assertEquals(await assertRestored(check), 130);
    const { all: last } = check.screen();
    assertMatch(last, /^✓ files +stdio +running +1 tool/m);
    assertMatch(last, /^◌ hangs +stdio +starting/m);
    assertMatch(last, /^problem: MCP server "gone": .*no such program/m);
    assertMatch(
      last,
      /^error: stopped before everything was checked; 1 of 3 MCP servers are not$/m,
    );
    assertNotMatch(last, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    assertEquals(last.match(/^✓ files/gm)?.length, 1);
    assertNotMatch(check.written, /hunter2/);
  },
);
