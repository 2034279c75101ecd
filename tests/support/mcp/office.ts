import {
  type OfficeMcp,
  officeMcp,
  type OfficeMcpOptions,
} from "../../../mcp/mod.ts";
import type { ComputerOffice } from "../computer/computer.ts";
import { startComputer } from "../computer/computer.ts";
import { fixtureHere } from "../computer/fixture_here.ts";
import { serveMcp } from "./serve.ts";

/** An office with a real Computer "pc" and its MCP servers, served as one MCP server over HTTP. */
export interface OfficeServed extends AsyncDisposable, ComputerOffice {
  readonly mcp: OfficeMcp;
  readonly url: URL;
}

/** How it is started. */
export interface OfficeServedSetup {
  readonly mcp?: OfficeMcpOptions;
  readonly servers?: Parameters<typeof startComputer>[0];
  readonly computer?: Parameters<typeof startComputer>[1];
  readonly office?: Parameters<typeof startComputer>[2];
}

/** Starts all of it; without further words the Computer has the fixture as MCP server "fix". */
export async function serveOffice(
  setup: OfficeServedSetup = {},
): Promise<OfficeServed> {
  await using stack = new AsyncDisposableStack();
  const running = stack.use(
    await startComputer(
      setup.servers ?? { fix: fixtureHere() },
      setup.computer,
      setup.office,
    ),
  );
  const mcp = stack.use(officeMcp(running.office.agent, setup.mcp));
  const { url } = stack.use(await serveMcp(mcp));
  const kept = stack.move();
  return {
    ...running,
    mcp,
    url,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
