import { argumentsOf } from "../command.ts";
import { OFFICE } from "../office.ts";
import type { ChildCommand } from "./child_transport.ts";

/** `smcp-agent mcp` as the program that an MCP client starts. */
export const pipeCommand = (
  url: string | URL,
  ...flags: readonly string[]
): ChildCommand => ({
  command: Deno.execPath(),
  args: argumentsOf("agent", [
    ...["mcp", "--url", new URL(url).origin, "--office", OFFICE],
    ...flags,
  ]),
});
