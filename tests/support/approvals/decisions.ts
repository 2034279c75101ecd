import { CallWaits } from "../../../computer/tools/call_waits.ts";
import type {
  Confirm,
  Confirmed,
  ConfirmRequest,
} from "../../../computer/tools/confirm.ts";
import {
  Confirmations,
  type ConfirmationsOptions,
} from "../../../computer/tools/confirmations.ts";
import type {
  ConfirmDecision,
  PendingCall,
} from "../../../computer/tools/decision.ts";
import { CallClock } from "../../../computer/tools/call_clock.ts";
import { mcpTool, view } from "../computer/server_view.ts";

/** A question that waits, and how it is answered. */
export interface WaitingQuestion {
  readonly request: ConfirmRequest;
  readonly signal: AbortSignal;
  answer(answer: Confirmed["answer"] | Confirmed): void;
}

/** A person who is asked any number of times, and answers when the test does. */
export function askedPerson() {
  const questions: WaitingQuestion[] = [];
  const confirm: Confirm = (request, signal) =>
    new Promise((answer) => {
      questions.push({ request, signal, answer });
    });
  return { questions, confirm };
}

/** Names a call of a test. */
export interface TestCall {
  readonly tool?: string;
  readonly agent?: string;
  readonly operator?: string;
  readonly params?: Record<string, unknown>;
  readonly signal?: AbortSignal;
  readonly definition?: Parameters<typeof mcpTool>[1];
  readonly config?: Record<string, unknown>;
  readonly introduction?: string;
}

/** Decides calls of tools of the MCP server `files`, with a clock that the test moves. */
export class Decisions {
  readonly confirmations: Confirmations;
  now = 1_000_000;
  readonly #config: Record<string, unknown>;

  constructor(
    options: Partial<ConfirmationsOptions>,
    config: Record<string, unknown> = {},
  ) {
    this.#config = config;
    this.confirmations = new Confirmations({
      confirm: undefined,
      place: () => "pc",
      now: () => this.now,
      ...options,
    });
  }

  decide(call: TestCall = {}): Promise<ConfirmDecision> {
    const time = new CallClock({ runMs: 60_000, confirmMs: 0 });
    return this.confirmations.decide(this.pending(call), {
      signal: call.signal ?? new AbortController().signal,
      waits: new CallWaits(() => {}, time),
      time,
    });
  }

  /** Returns what becomes of a call, and its text where it is refused. */
  async outcome(call: TestCall = {}): Promise<string> {
    const decision = await this.decide(call);
    return decision.kind === "run" ? "run" : decision.text;
  }

  /** Describes a call of a test as a pending one. */
  pending(
    {
      tool = "write_file",
      agent = "planner",
      operator,
      params = { path: "/srv/a.txt" },
      definition = {},
      config = this.#config,
      introduction = '["files","1"]',
    }: TestCall = {},
  ): PendingCall {
    const listed = mcpTool(tool, definition);
    const server = view("files", [listed], config);
    return {
      target: { name: tool, server, tool: listed },
      name: tool,
      agent,
      ...(operator !== undefined && { operator }),
      params,
      introduction,
    };
  }
}
