import { checkNumbers } from "../../shared/checks.ts";
import process from "node:process";
import { Authorizations } from "./oauth/authorizations.ts";
import { bundleIdOf } from "../config/bundle_id.ts";
import { type ConfigChanges, diffConfigs } from "../config/diff_configs.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { readServerConfig } from "../config/read_server_config.ts";
import type { ServerSettings } from "../config/settings.ts";
import { splitById } from "./shadowed.ts";
import { guardSecrets } from "../util/hide_secrets.ts";
import { McpHost } from "./host.ts";
import { connectWithRedaction } from "./redacting_connection.ts";
import { InputStore } from "../config/inputs/input_store.ts";
import { prepareConfig } from "../config/inputs/prepare_config.ts";
import { connectMcp } from "./mcp/connect.ts";
import {
  inheritedVariables,
  urlCredentials,
} from "../util/inherited_variables.ts";
import {
  checkMessageBytes,
  DEFAULT_MESSAGE_BYTES,
} from "./mcp/message_limit.ts";
import type { HostingOptions } from "./hosting_options.ts";
import { checkVrl } from "../vrl/vrl_compiler.ts";

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
   * @param elicits returns whether somebody may answer the questions of MCP servers
   */
  constructor(
    config: ComputerConfig,
    options: HostingOptions,
    inputsChanged: () => void,
    elicits: () => boolean,
  ) {
    const { inputValues, askInput, startTimeoutMs, restart, oauth } = options;
    checkTimes(startTimeoutMs, restart);
    const maxMessageBytes = checkMessageBytes(
      options.maxMessageBytes ?? DEFAULT_MESSAGE_BYTES,
    );
    const inputs = new InputStore(
      config.inputs,
      { values: inputValues ?? {}, environment: process.env, ask: askInput },
      inputsChanged,
    );
    const authorizations = oauth &&
      new Authorizations(oauth, () => this.host.authorized());
    const inherited = urlCredentials(inheritedVariables(process.env));
    const secrets = () => [
      ...inherited,
      ...inputs.secrets,
      ...authorizations?.secrets ?? [],
    ];
    this.#guard = guardSecrets(secrets);
    this.inputs = inputs;
    this.#authorizations = authorizations;
    this.host = new McpHost(config.servers, {
      connect: connectWithRedaction(
        (server, signal) =>
          connectMcp(server, signal, {
            maxMessageBytes,
            elicits: elicits(),
            authorizer: (name, url) => authorizations?.authorizer(name, url),
          }),
        secrets,
      ),
      prepare: async (server, signal) => {
        const filled = await prepareConfig(server, inputs, signal);
        await checkVrl(filled.vrl);
        return filled;
      },
      ...(startTimeoutMs !== undefined && { startTimeoutMs }),
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
  startTimeoutMs: HostingOptions["startTimeoutMs"],
  restart: HostingOptions["restart"] = {},
): void {
  const policy = Object.entries(restart)
    .map(([name, value]) => [`restart.${name}`, value]);
  checkNumbers({ startTimeoutMs, ...Object.fromEntries(policy) });
  if (startTimeoutMs === undefined || startTimeoutMs > 0) return;
  throw new TypeError(
    `startTimeoutMs cannot be ${startTimeoutMs}: expected more than 0`,
  );
}
