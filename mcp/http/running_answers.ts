/**
 * The answers of one session that are made past the MCP SDK: its requests find their tools by the same
 * functions as those of the SDK's handlers. Where a result is unusual, or a call becomes a task, the SDK makes
 * the answer.
 *
 * @module
 */
import type {
  CallToolResult,
  JSONRPCMessage,
  ListToolsResult,
} from "@modelcontextprotocol/server";
import type { IncomingHttpHeaders } from "node:http";
import type { QuickAnswer } from "./quick_answer.ts";
import type { QuickCall, QuickList, QuickMessage } from "./quick_message.ts";
import {
  BegunCall,
  type CallingClient,
  handOver,
  isPlainResult,
  type Notify,
} from "../office/begun_call.ts";
import { cancelledBy } from "../office/request_ids.ts";
import { namingOffices } from "../office/server.ts";
import type { ServerParts } from "../office/server_parts.ts";
import { answerCall, listTools, outputSchemaOf } from "../office/tools.ts";
import { declaresTasks } from "../tasks/extension.ts";
import { RunningCall } from "../tasks/running_call.ts";
import { isRecord } from "../../protocol/names.ts";
import { swapRemove } from "../../shared/swap_list.ts";

/** Who sends a request, and the Agent that it is for. */
export type Sender = Pick<CallingClient, "agent" | "caller">;

/** A request, and how it is answered. */
export interface Running {
  readonly message: QuickMessage;
  readonly headers: IncomingHttpHeaders;
  readonly client: CallingClient;
  readonly answer: QuickAnswer;
  /** Whether it is of a session: else it is cancelled when its client goes. */
  readonly inSession: boolean;
  /** Answers it by the MCP SDK. */
  readonly serve: (request: Request) => Promise<Response>;
}

/** A call, and the client's id of it. */
interface OpenCall {
  readonly id: string | number;
  readonly call: BegunCall;
}

/** Answers requests past the MCP SDK. */
export class RunningAnswers {
  readonly #parts: ServerParts;
  readonly #calls: OpenCall[] = [];
  readonly #added: (result: CallToolResult | ListToolsResult) => object;

  /** @param added returns what clients' revision adds to a result */
  constructor(
    parts: ServerParts,
    added: (result: CallToolResult | ListToolsResult) => object = () => ({}),
  ) {
    this.#parts = parts;
    this.#added = added;
  }

  /** Answers a request. */
  run(running: Running): void {
    this.#run(running).catch(() => running.answer.end()); // the session has ended
  }

  async #run(running: Running): Promise<void> {
    const { request } = running.message;
    switch (request.method) {
      case "ping":
        return running.answer.send({});
      case "tools/list":
        return await this.#list(running, request.params);
      case "tools/call":
        return await this.#call(running, request.params);
    }
  }

  /** Cancels the calls that a body of the client cancels. */
  saw(body: unknown): void {
    if (this.#calls.length === 0) return;
    for (const message of [body].flat()) {
      if (!isRecord(message)) continue;
      const id = cancelledBy(message as JSONRPCMessage);
      if (id === undefined) continue;
      for (const { call } of this.#calls.filter((each) => each.id === id)) {
        call.cancel("It was cancelled");
      }
    }
  }

  /** Cancels all calls. */
  cancelAll(why: string): void {
    for (const { call } of [...this.#calls]) call.cancel(why);
  }

  async #list(
    running: Running,
    { cursor, _meta }: QuickList["params"],
  ): Promise<void> {
    const { view } = this.#parts;
    let result: ListToolsResult | undefined;
    try {
      const list = () => listTools(this.#parts, cursor);
      result = await namingOffices(view, _meta, list);
    } catch {
      // The MCP SDK makes the error.
    }
    // It changes other schemas for clients before 2026.
    const isPlain = result?.tools.every(({ outputSchema }) =>
      outputSchema === undefined || outputSchema.type === "object"
    );
    if (result && isPlain) running.answer.send(result, this.#added(result));
    else await relay(running);
  }

  async #call(running: Running, params: QuickCall["params"]): Promise<void> {
    const { message: { id }, client, answer, inSession } = running;
    const { _meta } = params;
    let handedOver: Promise<void> | undefined;
    // Streams of sessions are kept by the MCP SDK's transport, for clients that lose them; its handler makes tasks.
    const toSdk = () => {
      if (answer.isOver) return;
      handedOver ??= relay(running, call);
      handedOver.catch(() => answer.end());
    };
    const notify: Notify = async (...notified) => {
      if (inSession) toSdk();
      else if (!handedOver) return answer.notify(notified[0]);
      await (await call.taken)(...notified);
    };
    const hasTasks = !inSession && declaresTasks(client.capabilities);
    const task = hasTasks ? new RunningCall(this.#parts, toSdk) : undefined;
    const call = new BegunCall(
      client,
      { ...(_meta && { _meta }), notify, running: task },
      this.#parts,
      (asked) => answerCall(this.#parts, params, asked),
    );
    const entry = { id, call };
    this.#calls.push(entry);
    const gone = () => {
      if (this.#calls.includes(entry)) call.cancel("The client is gone");
    };
    if (inSession) answer.onSilent = toSdk;
    else answer.onOver(gone);
    try {
      const result = await call.outcome;
      if (handedOver) return await handedOver;
      const schema = outputSchemaOf(this.#parts, params.name);
      const isPlain = result && isPlainResult(result, schema);
      if (call.whyCancelled !== undefined) answer.fail(call.whyCancelled);
      else if (isPlain) answer.send(result, this.#added(result));
      else await relay(running, call);
    } finally {
      swapRemove(this.#calls, this.#calls.indexOf(entry));
    }
  }
}

/** The path is of no account: the MCP SDK reads the headers alone. */
const URL_OF_ANY = "http://office/mcp";

/**
 * Answers a request by the MCP SDK.
 *
 * @param call what its handler goes on with
 */
async function relay(
  { headers, answer, serve }: Running,
  call?: BegunCall,
): Promise<void> {
  const gone = new AbortController();
  answer.onOver(() => gone.abort());
  const request = new Request(URL_OF_ANY, {
    method: "POST",
    signal: gone.signal,
    headers: Object.entries(headers)
      .flatMap(([name, value]) =>
        typeof value === "string" ? [[name, value]] : []
      ),
  });
  if (call) handOver(request, call);
  await answer.relay(await serve(request));
}
