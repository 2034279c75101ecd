import { readFileSync } from "node:fs";
import process from "node:process";
import { connectionOptions, type ServerFlags } from "../../cli/server_flags.ts";
import type { AuthorizationRequest } from "../host/oauth/authorizations.ts";
import { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { localDirResolver } from "../resources/dpe/local_dir_resolver.ts";
import type { View } from "./live/view.ts";
import type { SmcpComputerOptions } from "../options.ts";
import { openBrowser } from "./terminal/open_browser.ts";
import {
  type TerminalQuestions,
  terminalQuestions,
} from "./terminal/questions.ts";

/** How MCP servers are hosted, from the command line. */
export interface HostFlags {
  /** Where authorizations for MCP servers are kept. */
  oauthDir: string;
  /** Values of inputs by id. */
  input: Record<string, string>;
  /** Bytes that one message of an MCP server may have. */
  maxMessage: number;
}

/** The same for a Computer that serves. */
export interface ComputerFlags extends HostFlags, ServerFlags {
  /** Where documents are published; absent: they are not. */
  dpeDir?: string;
  /** Run tools without `auto_apply` unasked. */
  yes?: boolean;
}

/**
 * Makes the Computer of a command line; whoever sits at the terminal is asked.
 *
 * @param view where questions and notes go; asked for when there is one
 */
export function makeComputer(
  flags: ComputerFlags,
  { inputs, servers }: ComputerConfig,
  view: () => View,
): SmcpComputer {
  const computer = new SmcpComputer({
    ...connectionOptions(flags, (file) => readFileSync(file, "utf8")),
    inputs,
    servers,
    inputValues: flags.input,
    maxMessageBytes: flags.maxMessage,
    oauth: {
      directory: flags.oauthDir,
      authorize: (request) => showPage(request, view()),
    },
    ...person(view),
    ...(flags.yes && { confirm: () => "once" as const }),
  });
  if (flags.dpeDir !== undefined) {
    computer.registerDpeResolver(localDirResolver(flags.dpeDir));
  }
  return computer;
}

/** Whom questions can be put to: nobody unless a person sits at a terminal. */
export function person(
  view: () => Pick<View, "asking">,
): Partial<Pick<SmcpComputerOptions, keyof TerminalQuestions>> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY || !output.isTTY) return {};
  // A question hides the cursor and reads key by key; a program that ends meanwhile puts that right.
  process.once("exit", () => {
    input.setRawMode(false);
    output.write("\x1b[?25h");
  });
  const { askInput, confirm } = terminalQuestions({ input, output });
  return {
    askInput: (...question) => view().asking(() => askInput(...question)),
    confirm: (...question) =>
      view().asking(() => Promise.resolve(confirm(...question))),
  };
}

/** The address is for this terminal alone: it goes into no log. */
function showPage({ server, url }: AuthorizationRequest, view: View): void {
  view.note(
    `MCP server ${server}: authorize this Computer in a browser on this machine:\n  ${url}`,
  );
  if (process.stdout.isTTY) openBrowser(url);
}
