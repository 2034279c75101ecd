/**
 * The life of one MCP server: it is started, listed, lost and restarted, with growing delays, until
 * it is stopped.
 *
 * @module
 */
import { backoff } from "../../client/wire.ts";
import {
  bundleIdOf,
  sameServerConfig,
  seenConfig,
  type ServerConfig,
} from "../config/config.ts";
import { TransientInputError } from "../config/fill_inputs.ts";
import type { McpConnection, ToolList } from "./mcp/mcp_connection.ts";
import { LeadsBackError, type OwnOffices } from "./mcp/own_offices.ts";
import { AuthorizationError } from "./oauth/authorized_fetch.ts";
import type { ServerSet } from "./server_set.ts";
import {
  describeEnd,
  NotReadyError,
  type ServerEnd,
  type ServerState,
  type ServerStatus,
  type ServerView,
} from "./server_status.ts";
import { toolMismatches } from "./tool_naming.ts";
import { listWarnings } from "./tool_table.ts";
import { log } from "../util/log.ts";
import { hideSecrets } from "../util/secrets.ts";
import { reasonOf } from "../util/values.ts";
import { coalesce } from "../../shared/async.ts";
import type { NamesOf } from "../../shared/checks.ts";

/**
 * One MCP server of a Computer: its state, its tools, and its connection while it runs.
 *
 * A server that is lost or fails to start is restarted with growing delays until it is stopped: a
 * missing program may be installed at any time, and the command of an input may succeed later.
 * Only a start that fails because a placeholder has no value is not repeated, as that would ask
 * the user again and again.
 */
export class HostedServer {
  /** The configuration as loaded, with its placeholders. */
  readonly config: ServerConfig;
  /** The `bundle_id` of the server. */
  readonly bundleId: string;
  readonly #options: HostedServerOptions;
  /**
   * The configuration that Agents see, with what they see filled in; before its first start as loaded.
   * The same object as long as nothing of it changes.
   */
  seen: ServerConfig;
  /** The connection; undefined unless the server is running. */
  connection: McpConnection | undefined;
  #state: ServerState;
  #end: ServerEnd = {};
  #refusal: AuthorizationError | undefined;
  #list: ToolList = { tools: [], problems: [] };
  #wanted = false;
  #starting: { abort: AbortController; done: Promise<void> } | undefined;
  #stopping: Promise<void> | undefined;
  #next: { at: Date; timer: ReturnType<typeof setTimeout> } | undefined;
  #failures = 0;
  #restarts = 0;
  /** When it last began to run; undefined until it first runs after a manual start. */
  #ranFrom: number | undefined;
  readonly #relist: () => void = coalesce(() => this.#listAgain());

  /** Creates a server that is not started. */
  constructor(config: ServerConfig, options: HostedServerOptions) {
    this.config = config;
    this.seen = config;
    this.bundleId = bundleIdOf(config);
    this.#options = options;
    this.#state = config.disabled ? "disabled" : "stopped";
  }

  /** The input of the rules about tools. */
  get view(): ServerView {
    return {
      name: this.config.name,
      bundleId: this.bundleId,
      address: this.#options.names.addressOf(this.bundleId),
      bundleIds: this.#options.names.bundleIds,
      config: this.seen,
      state: this.#state,
      tools: this.#list.tools,
      nextAttempt: this.#next?.at,
      refusal: this.#refusal,
    };
  }

  /** The status shown to users. */
  get status(): ServerStatus {
    return {
      name: this.config.name,
      bundleId: this.bundleId,
      type: this.config.type,
      state: this.#state,
      tools: this.#list.tools.length,
      restarts: this.#restarts,
      ...this.#end,
      ...(this.#end.error !== undefined &&
        { error: hideSecrets(this.#end.error) }), // those too that were not known then
      ...(this.#next && { nextAttempt: this.#next.at }),
      problems: [
        ...this.#list.problems,
        ...this.connection?.listProblems ?? [],
        ...this.#state === "running" ? toolMismatches(this.view) : [],
      ].map(hideSecrets),
    };
  }

  /**
   * Starts the server manually, unless it is disabled, running or starting; resolves when it runs
   * or the attempt has failed.
   *
   * Never rejects: see {@linkcode status} for the outcome.
   */
  async start(): Promise<void> {
    if (this.config.disabled) return;
    this.#wanted = true;
    await this.#stopping;
    if (!this.#wanted || this.connection) return;
    if (!this.#starting) {
      this.#failures = 0;
      this.#restarts = 0;
      this.#ranFrom = undefined;
      this.#end = {};
    }
    await this.#attempt();
  }

  /** Ends the server if it leads back to an office that the Computer is in. */
  checkOffices(): void {
    const { connection } = this;
    if (connection === undefined) return;
    try {
      this.#options.offices.check(connection.offices);
    } catch (error) {
      this.connection = undefined;
      this.#setState("failed", describeEnd(error));
      void connection.close();
    }
  }

  /** Starts the server again if it led back to an office that the Computer has left. */
  officeChanged(): void {
    const { failure } = this.#end;
    if (failure === "leads_back" && this.#wanted) void this.#attempt();
  }

  /** Restarts the server now if it waits for an authorization. */
  authorized(): void {
    if (this.#next && this.#refusal) void this.#attempt();
  }

  /**
   * Reconnects immediately after a connection turned out to be unusable; resolves when the server runs
   * or the attempt has failed.
   *
   * @param lost the unusable connection
   * @returns the new connection, if there is one
   */
  async connectAgain(lost: McpConnection): Promise<McpConnection | undefined> {
    if (this.connection === lost) {
      this.#lost(new Error("The MCP server forgot the session"));
      await lost.close();
    }
    if (this.#wanted && !this.connection) await this.#attempt();
    return this.connection;
  }

  /** Stops the server with all its processes; resolves when none is left. */
  stop(): Promise<void> {
    this.#wanted = false;
    return this.#stopping ??= this.#stop().finally(() =>
      this.#stopping = undefined
    );
  }

  async #stop(): Promise<void> {
    this.#forgetNext();
    this.#starting?.abort.abort(STOPPED);
    await this.#starting?.done;
    this.#forgetNext();
    const connection = this.connection;
    this.connection = undefined;
    await connection?.close();
    this.#setState(this.config.disabled ? "disabled" : "stopped");
  }

  #attempt(): Promise<void> {
    if (this.#starting) return this.#starting.done;
    this.#forgetNext();
    const abort = new AbortController();
    const starting = { abort, done: Promise.resolve() };
    this.#starting = starting; // before the first await: the new state is announced synchronously
    return starting.done = this.#start(abort);
  }

  async #start(abort: AbortController): Promise<void> {
    const { prepare, startTimeoutMs, offices } = this.#options;
    const { signal } = abort;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isFirst = this.#ranFrom === undefined;
    this.#setState(isFirst ? "starting" : "restarting", this.#end);
    const opening: Opening = {};
    let again = false;
    try {
      // Outside of the timeout: a user may be typing.
      const config = await prepare(this.config, signal);
      again = true;
      timer = setTimeout(() => {
        abort.abort(new NotReadyError(config, startTimeoutMs));
      }, startTimeoutMs);
      await this.#open(config, opening, signal);
    } catch (error) {
      await opening.connection?.close();
      again ||= error instanceof TransientInputError;
      if (!this.#wanted || signal.reason === STOPPED) return;
      // Without a connection, the error has more than the signal: the server's output.
      const why: unknown = opening.connection && signal.aborted
        ? signal.reason
        : opening.lost ?? offices.explain(error);
      again &&= !(why instanceof LeadsBackError); // only another office helps
      this.#refusal = refusal(why);
      if (again) this.#tryAgain();
      this.#setState(
        again && !isFirst ? "restarting" : "failed",
        describeEnd(why),
      );
    } finally {
      clearTimeout(timer);
      this.#starting = undefined;
    }
  }

  /**
   * Connects and lists the tools; the server runs then.
   *
   * @param opening receives the connection, and why it is lost
   */
  async #open(
    config: ServerConfig,
    opening: Opening,
    signal: AbortSignal,
  ): Promise<void> {
    const { connect, offices, onNotification } = this.#options;
    const connection = opening.connection = await connect(config, signal);
    offices.check(connection.offices);
    let isListOld = false;
    connection.onLost((reason) => {
      opening.lost = reason;
      if (this.connection === connection) this.#lost(reason);
    });
    connection.onNotification((method, params) => {
      if (method === TOOLS_CHANGED) {
        isListOld = true;
        this.#relist();
      }
      onNotification(method, params);
    });
    const list = await connection.listTools({ signal });
    if (opening.lost) throw opening.lost;
    signal.throwIfAborted();
    offices.check(connection.offices); // the Computer may have joined meanwhile
    this.#began(config, connection, list);
    if (isListOld) this.#relist();
  }

  #began(
    config: ServerConfig,
    connection: McpConnection,
    list: ToolList,
  ): void {
    const seen = seenConfig(this.config, config);
    // The same one as long as it is equal: what users allowed is about this object.
    if (!sameServerConfig(this.seen, seen)) this.seen = seen;
    if (this.#ranFrom !== undefined) this.#restarts++;
    this.#ranFrom = performance.now();
    this.#refusal = undefined;
    this.connection = connection;
    this.#take(list);
    this.#setState("running");
  }

  #take(list: ToolList): void {
    this.#list = list;
    for (const warning of listWarnings(this.view)) {
      log.warn("MCP server {server}: {warning}", {
        server: this.config.name,
        warning,
      });
    }
  }

  #lost(reason: Error): void {
    this.connection = undefined;
    this.#failures = failuresAfterLoss(
      this.#failures,
      performance.now() - (this.#ranFrom ?? 0),
      this.#options.restart,
    );
    this.#refusal = refusal(reason);
    this.#tryAgain();
    this.#setState("restarting", describeEnd(reason));
  }

  #tryAgain(): void {
    const { restart } = this.#options;
    const delay = backoff(this.#failures++, Math.random(), restart);
    this.#next = {
      at: new Date(Date.now() + delay),
      timer: setTimeout(() => this.#attempt(), delay),
    };
  }

  #forgetNext(): void {
    clearTimeout(this.#next?.timer);
    this.#next = undefined;
  }

  async #listAgain(): Promise<void> {
    const connection = this.connection;
    if (!connection) return;
    try {
      const list = await connection.listTools();
      if (this.connection !== connection) return;
      this.checkOffices();
      if (this.connection !== connection) return;
      this.#take(list);
      this.#options.onTools();
    } catch (error) {
      log.warn("Cannot list the tools of {server} again: {reason}", {
        server: this.config.name,
        reason: reasonOf(error),
      });
    }
  }

  #setState(state: ServerState, end: ServerEnd = {}): void {
    const isSame = state === this.#state;
    this.#state = state;
    this.#end = end;
    this.#options.onState();
    // A server that has never run has no tools to announce.
    const hasTools = state === "running" || this.#list.tools.length > 0;
    if (!isSame && hasTools) this.#options.onTools();
  }
}

/** An attempt to start a server. */
interface Opening {
  /** Its connection, once there is one. */
  connection?: McpConnection;
  /** Why the connection was lost. */
  lost?: Error;
}

/** The refusal of an MCP server that needs an authorization. */
const refusal = (error: unknown): AuthorizationError | undefined =>
  error instanceof AuthorizationError ? error : undefined;

const TOOLS_CHANGED = "notifications/tools/list_changed";
const STOPPED = new Error("it was stopped while it started");

/** Options of a {@linkcode HostedServer}. */
export interface HostedServerOptions {
  /** How the servers are named. */
  readonly names: Pick<ServerSet, "addressOf" | "bundleIds">;
  /** Starts or reaches the server; cleans up before it rejects. */
  readonly connect: (
    config: ServerConfig,
    signal: AbortSignal,
  ) => Promise<McpConnection>;
  /** Replaces placeholders with their values at each start. */
  readonly prepare: (
    config: ServerConfig,
    signal: AbortSignal,
  ) => Promise<ServerConfig>;
  /** The offices that the Computer is in. */
  readonly offices: Pick<OwnOffices, "check" | "explain">;
  /** The time from the end of `prepare` to the list of tools. */
  readonly startTimeoutMs: number;
  /** When the server is restarted automatically. */
  readonly restart: RestartPolicy;
  /** Called when the state changed. */
  readonly onState: () => void;
  /** Called when the list of tools changed. */
  readonly onTools: () => void;
  /** Called with each notification of the server; must not block. */
  readonly onNotification: (
    method: string,
    params: Record<string, unknown>,
  ) => void;
}

/** When an MCP server that was lost, or failed to start, is restarted. */
export interface RestartPolicy {
  /** Delay before the first attempt; doubles with each further one. */
  readonly minDelayMs: number;
  /** Maximum delay before an attempt. */
  readonly maxDelayMs: number;
  /** Randomizes each delay by up to this fraction of it, 0 to 1. */
  readonly jitter: number;
  /** Run time after which earlier failures no longer count. */
  readonly healthyMs: number;
}

/** The names of {@linkcode RestartPolicy}. */
export const RESTART_NAMES = {
  minDelayMs: true,
  maxDelayMs: true,
  jitter: true,
  healthyMs: true,
} satisfies NamesOf<RestartPolicy>;

/** A server that crashes once is back at once; one that keeps crashing costs next to nothing. */
export const RESTART_POLICY: RestartPolicy = {
  minDelayMs: 100,
  maxDelayMs: 60_000,
  jitter: 0.5,
  healthyMs: 10_000,
};

/**
 * Returns the number of failures in a row that count after a running server was lost.
 *
 * @param failures the number before it ran
 * @param ranMs how long it ran
 */
export const failuresAfterLoss = (
  failures: number,
  ranMs: number,
  { healthyMs }: Pick<RestartPolicy, "healthyMs">,
): number => ranMs >= healthyMs ? 0 : failures;
