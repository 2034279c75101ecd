import process from "node:process";
import { Authorizations } from "./oauth/authorizations.ts";
import { type ConfigChanges, diffConfigs } from "../config/diff_configs.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { readServerConfig } from "../config/read_server_config.ts";
import type { ServerSettings } from "../config/settings.ts";
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
        await checkVrl(server.vrl);
        return server.type === "in-process"
          ? server
          : await prepareConfig(server, inputs, signal);
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

  /** Adds an MCP server and starts it. */
  async add(name: string, settings: ServerSettings): Promise<void> {
    await this.host.addServer(await readServerConfig(name, settings));
  }

  /** Replaces an MCP server. */
  async update(name: string, settings: ServerSettings): Promise<void> {
    await this.host.updateServer(await readServerConfig(name, settings));
  }

  /** Applies another configuration: what differs is replaced, everything else keeps running. */
  async configure(config: ComputerConfig): Promise<ConfigChanges> {
    const changes = diffConfigs(
      { inputs: this.inputs.definitions, servers: this.host.configs },
      config,
    );
    this.inputs.replace(config.inputs);
    await Promise.all([
      ...changes.remove.map((name) => this.host.removeServer(name)),
      ...changes.update.map((server) => this.host.updateServer(server)),
      ...changes.add.map((server) => this.host.addServer(server)),
    ]);
    return changes;
  }

  /** Starts an MCP server; a user who refused to authorize the Computer is asked again. */
  async startServer(name: string): Promise<void> {
    this.#authorizations?.askAgain();
    await this.host.startServer(name);
  }

  /** Stops every MCP server and withdraws open questions for values and authorizations. */
  async close(): Promise<void> {
    this.inputs.close();
    await Promise.all([this.#authorizations?.close(), this.host.close()]);
    this.#guard[Symbol.dispose]();
  }
}
