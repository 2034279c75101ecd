import { assert } from "@std/assert";
import { dirname, join } from "node:path";
import type { NpmTools } from "../support/mcp/npm_tools.ts";
import { GATEWAY_KEYS } from "../support/mcp/gateway.ts";
import type { SignInVisitor } from "../support/server/sign_in.ts";
import { startTerminal } from "../support/terminal/terminal.ts";

/** Wide enough for an address that a client must not break into lines. */
const COLUMNS = 4_000;

/** A client that prints the address of the page, and reads from its terminal where the browser went. */
export interface Login {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/**
 * Signs in as a person without a browser on this machine does.
 *
 * @returns what the page was asked for
 */
export async function login(
  { node, folder }: Pick<NpmTools, "node" | "folder">,
  { command, args, env, cwd }: Login,
  server: SignInVisitor,
): Promise<URLSearchParams> {
  const program = join(folder, "node_modules", ".bin", command);
  const path = Deno.env.get("PATH") ?? "";
  await using terminal = await startTerminal(program, args, {
    columns: COLUMNS,
    env: {
      PATH: node === "node" ? path : `${dirname(node)}:${path}`,
      ...env,
    },
    cwd,
  });
  const address = new RegExp(
    `${server.issuer.replaceAll(".", "\\.")}/authorize\\?(\\S+)(?=\\s)`,
  );
  const [, query = ""] = address.exec((await terminal.until(address)).all) ??
    [];
  const to = await server.visit(`/authorize?${query}`, {
    key: GATEWAY_KEYS.ann,
  });
  await terminal.type(`${to}\r`);
  const { code } = await terminal.end;
  assert(code === 0, `${code}: ${terminal.screen().all}`);
  return new URLSearchParams(query);
}
