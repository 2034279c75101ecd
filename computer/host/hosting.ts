/**
 * The dependencies of hosting MCP servers at run time: inputs, authorizations, secrets; and the changes
 * of a configuration while its servers run.
 *
 * @module
 */
import process from "node:process";
import {
  bundleIdOf,
  type ComputerConfig,
  type ConfigChanges,
  diffConfigs,
  type ServerSettings,
} from "../config/config.ts";
import { type AskInput, InputStore } from "../config/input_store.ts";
import { prepareConfig } from "../config/fill_inputs.ts";
import { readServerConfig } from "../config/parse_config.ts";
import { McpHost, splitById } from "./host.ts";
import { RESTART_NAMES, type RestartPolicy } from "./hosted_server.ts";
import { connectMcp } from "./mcp/connect.ts";
import { checkMessageBytes, DEFAULT_MESSAGE_BYTES } from "./mcp/errors.ts";
import {
  Authorizations,
  OAUTH_NAMES,
  type OAuthOptions,
} from "./oauth/authorizations.ts";
import {
  guardSecrets,
  inheritedVariables,
  urlCredentials,
} from "../util/secrets.ts";
import { checkVrl } from "../util/vrl.ts";
import { checkNumbers, type NamesOf } from "../../shared/checks.ts";

/**
 * The configuration of a Computer at run time: its MCP servers, the inputs behind their
 * placeholders, and their authorizations. All of it can change while the servers run.
 */
export class Hosting {
  /** The MCP servers. */
  readonly host: McpHost;
  /** The inputs and their values. */
  readonly inputs: InputStore;
  readonly #authorizations: Authorizations | undefined;
  readonly #guard: Disposable;
  #started: Promise<void> | undefined;

  /**
   * Creates a host; its servers are not started yet.
   *
   * @param inputsChanged called when the definition of an input changed
   * @param elicits returns whether a person may answer the questions of MCP servers
   */
  constructor(
    config: ComputerConfig,
    options: HostingOptions,
    inputsChanged: () => void,
    elicits: () => boolean,
  ) {
    const { inputValues, askInput, startTimeoutMs, restart, oauth } = options;
    const { exitGraceMs } = options;
    checkTimes(options);
    const maxMessageBytes = checkMessageBytes(
      options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    );
    this.inputs = new InputStore(
      config.inputs,
      { values: inputValues ?? {}, environment: process.env, ask: askInput },
      inputsChanged,
    );
    this.#authorizations = oauth &&
      new Authorizations({ oauth, authorized: () => this.host.authorized() });
    const inherited = urlCredentials(inheritedVariables(process.env));
    const secrets = () => [
      ...inherited,
      ...this.inputs.secrets,
      ...this.#authorizations?.secrets ?? [],
    ];
    this.#guard = guardSecrets(secrets);
    this.host = new McpHost(config.servers, {
      connect: (server, signal) =>
        connectMcp(server, signal, {
          maxMessageBytes,
          exitGraceMs,
          elicits: elicits(),
          offices: this.host.offices.ids,
          authorizer: (name, place) =>
            this.#authorizations?.authorizer(name, place),
          secrets,
        }),
      prepare: async (server, signal) => {
        const filled = await prepareConfig(server, this.inputs, signal);
        await checkVrl(filled.vrl);
        return filled;
      },
      startTimeoutMs,
      restart,
    });
  }

  /** Starts the MCP servers, once; resolves when each runs or has failed. */
  start(): Promise<void> {
    return this.#started ??= this.host.start();
  }

  /** Resolves when each server that `start` started runs or has failed. */
  async settled(): Promise<void> {
    await this.#started;
  }

  /** Adds an MCP server and starts it, in the place of another one with its `bundle_id`. */
  async add(name: string, settings: ServerSettings): Promise<void> {
    await this.host.addServer(await readServerConfig(name, settings));
  }

  /**
   * Adds an MCP server, or replaces that of its `bundle_id`, or of its name if it has no explicit one.
   *
   * @returns its `bundle_id`
   */
  async put(name: string, settings: ServerSettings): Promise<string> {
    const config = await readServerConfig(name, settings);
    const bundleId = bundleIdOf(config);
    const named = this.host.views.filter((view) => view.name === name);
    const [same] = (config.bundle_id ?? null) === null ? named : [];
    const old = this.host.server(bundleId) ?? same;
    if (old) await this.host.updateServer(config, old.bundleId);
    else await this.host.addServer(config);
    return bundleId;
  }

  /** Replaces an MCP server, which is named by its name or its `bundle_id`. */
  async update(nameOrId: string, settings: ServerSettings): Promise<void> {
    const { bundleId, config } = this.host.names.find(nameOrId);
    await this.host.updateServer(
      await readServerConfig(config.name, settings),
      bundleId,
    );
  }

  /** Applies another configuration: what differs is replaced, everything else keeps running. */
  async configure(config: ComputerConfig): Promise<ConfigChanges> {
    const { active, shadowed } = splitById(config.servers);
    const { gone, ...changes } = diffConfigs(
      { inputs: this.inputs.definitions, servers: this.host.configs },
      { inputs: config.inputs, servers: active },
    );
    this.inputs.replace(config.inputs);
    this.host.shadow(shadowed);
    await Promise.all([
      ...gone.map((server) => this.host.removeServer(bundleIdOf(server))),
      ...changes.update.map((server) => this.host.updateServer(server)),
      ...changes.add.map((server) => this.host.addServer(server)),
    ]);
    return changes;
  }

  /** Starts an MCP server; a user who refused to authorize the Computer is asked again. */
  async startServer(bundleId: string): Promise<void> {
    this.#authorizations?.askAgain();
    await this.host.startServer(bundleId);
  }

  /** Stops every MCP server and withdraws open questions for values and authorizations. */
  async close(): Promise<void> {
    this.inputs.close();
    await Promise.all([this.#authorizations?.close(), this.host.close()]);
    this.#guard[Symbol.dispose]();
  }
}

/** @throws {TypeError} that names what is no number, or not above zero */
function checkTimes(
  { startTimeoutMs, exitGraceMs, restart = {} }: HostingOptions,
): void {
  const policy = Object.entries(restart)
    .map(([name, value]) => [`restart.${name}`, value]);
  checkNumbers({ startTimeoutMs, exitGraceMs, ...Object.fromEntries(policy) });
  if (startTimeoutMs !== undefined && startTimeoutMs <= 0) {
    throw new TypeError(
      `startTimeoutMs cannot be ${startTimeoutMs}: expected more than 0`,
    );
  }
  const grace = exitGraceMs ?? 0;
  if (grace >= 0 && grace <= MAX_EXIT_GRACE_MS) return;
  throw new TypeError(
    `exitGraceMs cannot be ${exitGraceMs}: expected 0 to ${MAX_EXIT_GRACE_MS}`,
  );
}

/** The end of a Computer waits for its MCP servers. */
const MAX_EXIT_GRACE_MS = 600_000;

/** Options for starting, restarting and configuring MCP servers. */
export interface HostingOptions {
  /** Values of inputs by id; they take precedence over the environment's `SMCP_INPUT_<ID>` (protocol §4). */
  inputValues?: Readonly<Record<string, unknown>>;
  /** Asks the user for a value that neither of them has; the input's `default` comes last. */
  askInput?: AskInput;
  /**
   * Lets users authorize the Computer at MCP servers over HTTP that answer 401 and have no
   * `Authorization` header in their configuration; without it such calls are answered 4006 (protocol §6).
   */
  oauth?: OAuthOptions;
  /** How long an MCP server may take to start; default 60,000, as it may have to be downloaded. */
  startTimeoutMs?: number;
  /**
   * Maximum bytes of one message of an MCP server: a line of a child process, or an event or a body
   * over HTTP; default 64 MiB. The request of a longer answer fails.
   */
  maxMessageBytes?: number;
  /**
   * How long the processes of an MCP server may take to exit: after the child's input is closed, and
   * again after SIGTERM, before SIGKILL; default 2,000, at most 600,000. All MCP servers end at the
   * same time.
   */
  exitGraceMs?: number;
  /**
   * When an MCP server that was lost or failed to start is restarted; default: after 0.1 s, then
   * twice as long each time up to 60 s, ± 50 %, starting over once it ran for 10 s.
   */
  restart?: Partial<RestartPolicy>;
}

/** The names of {@linkcode HostingOptions}. */
export const HOSTING_NAMES = {
  inputValues: true,
  askInput: true,
  oauth: OAUTH_NAMES,
  startTimeoutMs: true,
  maxMessageBytes: true,
  exitGraceMs: true,
  restart: RESTART_NAMES,
} satisfies NamesOf<HostingOptions>;
