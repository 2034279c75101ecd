import { existsSync } from "node:fs";
import process from "node:process";
import { connectionOptions, type ServerFlags } from "../../cli/server_flags.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/config.ts";
import type { CallToConfirm, ConfirmRequest } from "../tools/confirm.ts";
import type { AuthorizationRequest } from "../host/oauth/authorizations.ts";
import { localDirResolver } from "../resources/resolvers.ts";
import type { PermissionStore } from "../rules/permissions.ts";
import type { Confirm } from "../tools/confirm.ts";
import { firstAnswer } from "../tools/first_answer.ts";
import { untilKeysCount } from "./ask_choice.ts";
import { howToBegin } from "./init.ts";
import { logLines } from "./question_text.ts";
import type { View } from "./screen.ts";
import type { Page } from "./ui/page.ts";
import { askOnPage } from "./ui/questions.ts";
import {
  type TerminalQuestions,
  terminalQuestions,
} from "./terminal_questions.ts";
import { spawn } from "node:child_process";
import { UsageError } from "../../cli/run.ts";
import { loadComputerConfig } from "../config/load_config.ts";
import { inputVariables } from "../util/inputs.ts";
import { hideSecrets } from "../util/secrets.ts";
import type { MCPServerConfig, MCPServerInput } from "../../protocol/mod.ts";
import { nearestWord } from "../../shared/checks.ts";

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
  /** Seconds for an MCP server to exit. */
  exitGrace: number;
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
  /** Directory of the keys by which devices answer. */
  approvalsDir: string;
  /** Where a sentence is posted to when a call waits for the person. */
  notifyUrl?: URL;
  /** Push services besides those of browsers. */
  pushHost?: readonly string[];
  /** Answer no operators of the Server. */
  refuseOperators?: boolean;
  /** Run every tool without confirmation. */
  yes?: boolean;
}

/** Where the questions of a Computer go besides the terminal. */
export interface MoreAnswerers {
  /** Asks too, and shows the addresses of authorizations. */
  readonly page?: Pick<Page, "questions" | "authorize"> | undefined;
  /** Ask too, about tool calls. */
  readonly devices: {
    /** Whether there are any now; without a terminal and a page no other is asked. */
    readonly isKept: boolean;
    readonly confirm: Confirm;
    readonly permissions: PermissionStore;
  };
}

/**
 * Creates the Computer of a command; questions go to the terminal, to the page if there is one, and those
 * about tool calls to the devices.
 *
 * @param view returns the current view, for questions and notes
 */
export function makeComputer(
  flags: ComputerFlags,
  config: ComputerConfig,
  view: () => View,
  { page, devices }: MoreAnswerers,
): SmcpComputer {
  const terminal = person(view);
  const here = page ? askOnPage(page.questions, terminal) : terminal;
  const asked = here
    ? firstAnswer(here.confirm, devices.confirm)
    : devices.confirm;
  const canAsk = () => here !== undefined || devices.isKept;
  const computer = new SmcpComputer({
    ...flags.connection
      ? { connection: flags.connection, name: flags.name }
      : connectionOptions(flags),
    ...hostOptions(flags, config, (request) => {
      page?.authorize(request);
      showSignIn(request, (text) => view().note(text));
    }),
    ...(flags.landingRoot !== undefined &&
      { landingRoot: flags.landingRoot }),
    uploads: { maxBytes: flags.maxUpload },
    blobStore: { maxBytes: flags.blobStore },
    ...here,
    ...(canAsk() && { confirm: asked }),
    permissions: devices.permissions,
    ...(flags.refuseOperators && { refuseOperators: true }),
    ...(flags.yes && {
      allowAsked: (call) => view().note(`allowed ${byYes(call)}`),
      confirm: (request, signal) => {
        if (canAsk()) return asked(request, signal);
        view().note(`not allowed ${byYes(request)}`);
        return noOfYes(request);
      },
    }),
  });
  if (flags.dpeDir !== undefined) {
    computer.registerDpeResolver(localDirResolver(flags.dpeDir));
  }
  return computer;
}

const byYes = (call: CallToConfirm): string =>
  hideSecrets(`by --yes: ${logLines(call).join("\n")}`);

/** Answers in place of a person whom a rule asks about every call. */
const noOfYes = ({ rule }: ConfirmRequest) => ({
  answer: "no" as const,
  reason:
    `a rule asks a person about every such call (${rule.id}), which --yes does not answer`,
});

/** Shows the page of a sign-in on this terminal only, as its URL must not be logged, and opens it. */
export function showSignIn(
  { server, url }: AuthorizationRequest,
  note: (text: string) => void,
): void {
  note(
    `MCP server ${server}: authorize this Computer in a browser on this machine:\n  ${url}`,
  );
  if (process.stdout.isTTY) openBrowser(url);
}

/** Returns the options about hosting MCP servers. */
export const hostOptions = (
  { input, skills, maxMessage, exitGrace, oauthDir }: HostFlags,
  { inputs, servers, rules = [] }: ComputerConfig,
  authorize: (request: AuthorizationRequest) => void,
) => ({
  inputs,
  servers,
  rules,
  inputValues: input,
  ...(skills !== false && { skillHome: skills }),
  maxMessageBytes: maxMessage,
  exitGraceMs: exitGrace * 1000,
  oauth: { directory: oauthDir, authorize },
});

/** Returns the callbacks that ask the user; undefined without a terminal. */
export function person(
  view: () => Pick<View, "asking">,
): TerminalQuestions | undefined {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY || !output.isTTY) return undefined;
  // Restores what an open question changes, if the program ends meanwhile.
  process.once("exit", () => {
    input.setRawMode(false);
    output.write("\x1b[?25h");
  });
  return terminalQuestions(
    { input, output, wait: untilKeysCount },
    (question) => view().asking(question),
  );
}

/**
 * Loads the configuration of a command, and checks `--input` options against it.
 *
 * @throws {ConfigError} that names file, line, path, problem and fix
 * @throws {Error} when there is no such file, with how to make one
 * @throws {UsageError} when a value is given for an unknown input
 */
export async function loadHostConfig(
  file: string,
  values: Readonly<Record<string, unknown>>,
): Promise<ComputerConfig<MCPServerConfig>> {
  const config = await loadComputerConfig(file).catch((error) => {
    if (existsSync(file)) throw error;
    throw new Error(`${error.message}; ${howToBegin(file)}`, { cause: error });
  });
  const ids = config.inputs.map(({ id }) => id);
  const stray = Object.keys(values).find((id) => !ids.includes(id));
  if (stray === undefined) return config;
  const hint = hintFor(stray, ids, "no inputs");
  throw new UsageError(
    `--input ${stray}=…: ${file} has no input "${stray}"; ${hint}`,
  );
}

/** Returns what there is in place of an unknown name: the closest one, or all of them. */
export function hintFor(
  name: string,
  known: readonly string[],
  none: string,
): string {
  const meant = nearestWord(name, known);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  return `it has ${known.map((each) => `"${each}"`).join(", ") || none}`;
}

/**
 * Describes environment variables that look like values of inputs but match no input.
 *
 * These are warnings, not errors: several Computers may share one environment.
 */
export function strayVariables(
  environment: Readonly<Record<string, string | undefined>>,
  inputs: readonly MCPServerInput[],
): string[] {
  const known = inputs.flatMap(({ id }) => inputVariables(id));
  return Object.keys(environment)
    .filter((name) => name.startsWith("SMCP_INPUT_") && !known.includes(name))
    .map((name) => {
      const meant = nearestWord(name, known);
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      return `the environment variable ${name} matches no input of the configuration${hint}`;
    });
}

/** Opens a page in the user's browser; does nothing if there is no browser. */
function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, url], {
    stdio: "ignore",
    detached: true,
  });
  child.once("error", () => {});
  child.unref();
}

const OPENERS: Partial<Record<string, [string, ...string[]]>> = {
  darwin: ["open"],
  // Unlike `start`, it does not interpret characters such as `&` in the URL.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
