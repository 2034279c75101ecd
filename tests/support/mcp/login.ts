import { GATEWAY_KEYS } from "./gateway.ts";
import type { NpmTools, StartOptions } from "./npm_tools.ts";
import type { SignInVisitor } from "../server/sign_in.ts";
import { startTerminal, type Terminal } from "../terminal/terminal.ts";

/** So wide that no client breaks an address into lines. */
const COLUMNS = 4_000;

/** A client on a terminal, which has printed the address of the page. */
export interface Login {
  readonly terminal: Terminal;
  /** What the client asked the page for. */
  readonly asked: URLSearchParams;
  /** Where the browser went. */
  readonly answer: URL;
}

/** The command of a client. */
interface LoginCommand extends StartOptions {
  /** Its name and arguments. */
  readonly words: readonly string[];
}

/**
 * Starts a command of a client that signs in, and lets a person agree on the page.
 *
 * @param take takes the answer to the client, and waits for its end
 */
export async function login<T>(
  tools: NpmTools,
  { words: [name = "", ...args], env, cwd = tools.folder }: LoginCommand,
  server: SignInVisitor,
  take: (login: Login) => Promise<T>,
): Promise<T> {
  await using terminal = await startTerminal(tools.program(name), args, {
    columns: COLUMNS,
    env: { ...tools.env, ...env },
    cwd,
  });
  const page = new RegExp(
    `${RegExp.escape(server.issuer)}/authorize\\?(\\S+)(?=\\s)`,
  );
  const [, query = ""] = page.exec((await terminal.until(page)).all) ?? [];
  const answer = await server.visit(`/authorize?${query}`, {
    key: GATEWAY_KEYS.ann,
  });
  return await take({ terminal, asked: new URLSearchParams(query), answer });
}
