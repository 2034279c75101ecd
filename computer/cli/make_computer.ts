import { readFileSync } from "node:fs";
import process from "node:process";
import { connectionOptions, type ServerFlags } from "../../cli/server_flags.ts";
import type { ConnectionOptions } from "../../client/options.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import type { AuthorizationRequest } from "../host/oauth/authorizations.ts";
import { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { localDirResolver } from "../resources/resolvers.ts";
import type { View } from "./live/view.ts";
import type { SmcpComputerOptions } from "../options.ts";
import type { Page } from "./ui/open_page.ts";
import { deskQuestions } from "./ui/questions.ts";
import { openBrowser } from "./terminal/open_browser.ts";
import {
  type TerminalQuestions,
  terminalQuestions,
} from "./terminal/questions.ts";

/** Flags about hosting MCP servers. */
export interface HostFlags {
  /** Directory of authorizations for MCP servers. */
  oauthDir: string;
  /** Folder of skills; false: no skills are offered. */
  skills: string | false;
  /** Values of inputs by id. */
  input: Record<string, string>;
  /** Maximum bytes of a message of an MCP server. */
  maxMessage: number;
}

/** Flags of a Computer that joins an office. */
export interface ComputerFlags extends HostFlags, ServerFlags {
  /** The connection to a Server of this process, in place of the flags of a Server. */
  connection?: InProcessConnection;
  /** Directory to publish documents in; absent: documents are not published. */
  dpeDir?: string;
  /** Directory for files of Agents; absent: none is taken. */
  landingRoot?: string;
  /** Maximum bytes of such a file. */
  maxUpload: number;
  /** Maximum bytes of results' content that is kept. */
  blobStore: number;
  /** Answer no operators of the Server. */
  refuseOperators?: boolean;
  /** Run every tool without confirmation. */
  yes?: boolean;
}

/**
 * Creates the Computer of a command; questions go to the terminal, and to the page if there is one.
 *
 * @param view returns the current view, for questions and notes
 * @param page asks too, and shows the addresses of authorizations
 */
export function makeComputer(
  flags: ComputerFlags,
  { inputs, servers }: ComputerConfig,
  view: () => View,
  page?: Pick<Page, "desk" | "authorize">,
): SmcpComputer {
  const terminal = person(view);
  const computer = new SmcpComputer({
    ...wayOf(flags),
    inputs,
    servers,
    inputValues: flags.input,
    ...skillHome(flags),
    maxMessageBytes: flags.maxMessage,
    oauth: {
      directory: flags.oauthDir,
      authorize: (request) => {
        page?.authorize(request);
        showPage(request, view());
      },
    },
    ...(flags.landingRoot !== undefined &&
      { landingRoot: flags.landingRoot }),
    uploads: { maxBytes: flags.maxUpload },
    blobStore: { maxBytes: flags.blobStore },
    ...page ? deskQuestions(page.desk, terminal) : terminal,
    ...(flags.refuseOperators && { refuseOperators: true }),
    ...(flags.yes && { confirm: () => "once" as const }),
  });
  if (flags.dpeDir !== undefined) {
    computer.registerDpeResolver(localDirResolver(flags.dpeDir));
  }
  return computer;
}

const wayOf = (flags: ComputerFlags): ConnectionOptions =>
  flags.connection
    ? { connection: flags.connection, name: flags.name }
    : connectionOptions(flags, (file) => readFileSync(file, "utf8"));

/** Returns the folder of skills as an option. */
export const skillHome = (
  { skills }: Pick<HostFlags, "skills">,
): { skillHome?: string } => skills === false ? {} : { skillHome: skills };

/** Returns the callbacks that ask the user; empty without a terminal. */
export function person(
  view: () => Pick<View, "asking">,
): Partial<Pick<SmcpComputerOptions, keyof TerminalQuestions>> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY || !output.isTTY) return {};
  // Restores what an open question changes, if the program ends meanwhile.
  process.once("exit", () => {
    input.setRawMode(false);
    output.write("\x1b[?25h");
  });
  const { askInput, confirm, elicit } = terminalQuestions({ input, output });
  return {
    askInput: (...question) => view().asking(() => askInput(...question)),
    confirm: (...question) =>
      view().asking(() => Promise.resolve(confirm(...question))),
    elicit: (...question) =>
      view().asking(() => Promise.resolve(elicit(...question))),
  };
}

/** Shows the URL on this terminal only; it must not be logged. */
function showPage({ server, url }: AuthorizationRequest, view: View): void {
  view.note(
    `MCP server ${server}: authorize this Computer in a browser on this machine:\n  ${url}`,
  );
  if (process.stdout.isTTY) openBrowser(url);
}
