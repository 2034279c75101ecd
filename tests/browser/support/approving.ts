/**
 * A Computer that asks a person's devices, and a relay of the test's own in the place of the Server: it
 * serves the page, and passes requests on, or lies.
 *
 * @module
 */
import { assert } from "@std/assert";
import { join } from "node:path";
import { Approvals } from "../../../computer/approvals/approvals.ts";
import type {
  Confirmed,
  ConfirmRequest,
} from "../../../computer/tools/confirm.ts";
import { answerApprove } from "../../../console/approve.ts";
import {
  type Bytes,
  fromBase64url,
  sha256,
  toBase64url,
} from "../../../shared/approvals/bytes.ts";
import { inTime, openTab, type Tab, type TabOptions } from "./driven.ts";

/** A telephone of most people. */
export const NARROW = { width: 390, height: 844 };

/** What a relay does with a message instead of passing it on once. */
export type Lie = (
  message: Bytes,
  pass: (message: Bytes) => Promise<Bytes>,
) => Promise<Bytes | undefined>;

const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers": "authorization, content-type",
};

/** Serves the page, and passes requests of devices to one Computer. */
class Relay implements AsyncDisposable {
  /** What it does with messages; undefined passes them on. */
  lie: Lie | undefined;
  /** How many requests of devices came, by their kind. */
  readonly requests = new Map<number, number>();
  /** A second Computer, whose devices it lets in. */
  admits: Approvals | undefined;
  /** The most requests at the same time of one token. */
  mostPending = 0;
  readonly #pending = new Map<string, number>();
  readonly #approvals: Approvals;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(approvals: Approvals) {
    this.#approvals = approvals;
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  /** How many requests it passes on right now. */
  get pending(): number {
    return [...this.#pending.values()].reduce((sum, each) => sum + each, 0);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/approve/v1/")) return await this.#pass(request);
    const part = /^\/approve(?:\/(.*))?$/.exec(pathname);
    if (part === null) return new Response("none", { status: 404 });
    return answerApprove({
      method: request.method,
      ...(part[1] !== undefined && { part: part[1] }),
      ifNoneMatch: request.headers.get("if-none-match") ?? undefined,
    });
  }

  async #pass(request: Request): Promise<Response> {
    if (request.method === "OPTIONS") {
      return new Response(null, { status: 204, headers: CORS });
    }
    const token = request.headers.get("authorization")?.slice(7) ?? "";
    const verifier = toBase64url(await sha256(fromBase64url(token)));
    const known = [
      ...this.#approvals.verifiers,
      ...this.admits?.verifiers ?? [],
    ];
    if (!known.some((each) => each.verifier === verifier)) {
      return new Response("none", { status: 404, headers: CORS });
    }
    const body = await request.arrayBuffer().catch(() => undefined);
    if (body === undefined) return new Response(null, { status: 400 }); // its client is gone
    const message = new Uint8Array(body);
    const kind = message[1] ?? 0;
    this.requests.set(kind, 1 + (this.requests.get(kind) ?? 0));
    const pass = (message: Bytes) => this.#approvals.handle(message);
    this.#count(token, 1);
    try {
      const answer = await (this.lie?.(message, pass) ?? pass(message));
      return answer === undefined
        ? new Response("lost", { status: 502, headers: CORS })
        : new Response(answer, { headers: CORS });
    } finally {
      this.#count(token, -1);
    }
  }

  #count(token: string, change: number): void {
    const pending = change + (this.#pending.get(token) ?? 0);
    this.#pending.set(token, pending);
    this.mostPending = Math.max(this.mostPending, pending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A question that waits for an answer. */
export interface Asked {
  readonly answer: Promise<Confirmed>;
  /** Withdraws it, for a reason such as `timeout`. */
  end(reason: string): void;
  /** The late answers so far. */
  readonly late: readonly Confirmed[];
}

/** A Computer "laptop" behind a relay. */
export interface Approving extends AsyncDisposable {
  readonly approvals: Approvals;
  readonly relay: Relay;
  /** The address of the page. */
  readonly page: string;
  /** Asks whether a tool may run. */
  ask(request?: Partial<ConfirmRequest>): Asked;
  /** Opens the page in a profile of its own, without a pairing. */
  open(options?: TabOptions): Promise<Tab>;
  /** Pairs a page that is open. */
  pair(page: Tab["page"], label?: string): Promise<void>;
  /** Opens the page, and pairs it. */
  paired(options?: TabOptions & { readonly label?: string }): Promise<Tab>;
}

/** Starts a Computer and its relay. */
export async function startApproving(): Promise<Approving> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "smcp-approving-" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const approvals = await Approvals.open(join(folder, "keys.json"), {
    name: () => "laptop",
  });
  const relay = stack.use(new Relay(approvals));
  stack.use(approvals);
  const page = `${relay.url}/approve`;
  const open = async (options: TabOptions = {}) => {
    const tab = await openTab({ size: NARROW, ...options });
    await tab.page.goto(page);
    await tab.page.getByText("Not paired yet").waitFor();
    return tab;
  };
  const pair = async (page: Tab["page"], label?: string) => {
    await pairTab(
      page,
      await openPairing(approvals, `${relay.url}/approve`),
      label,
    );
    await page.getByText("Nothing to decide").waitFor();
  };
  const kept = stack.move();
  return {
    approvals,
    relay,
    page,
    ask: (request = {}) => askDevices(approvals, request),
    open,
    pair,
    async paired({ label, ...options } = {}) {
      const tab = await open(options);
      await pair(tab.page, label);
      return tab;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Opens a pairing at the Computer. */
export const openPairing = (approvals: Approvals, page: string) =>
  approvals.pair({
    page,
    url: new URL(page).origin,
    office: "north",
    computer: "laptop",
  });

/** Opens a link in the page, and types the digits at the Computer. */
export async function pairTab(
  page: Tab["page"],
  pairing: Awaited<ReturnType<typeof openPairing>>,
  label = "Pixel",
): Promise<void> {
  await page.goto(pairing.link);
  await page.getByLabel("Name of this device").fill(label);
  await page.getByRole("button", { name: "Pair", exact: true }).click();
  const digits = await page.locator(".digits").innerText();
  assert(await pairing.type(digits) === "paired");
}

/** What a call is in most tests. */
const REQUEST = {
  agent: "planner",
  server: "files",
  tool: "write_file",
  name: "write_file",
  params: { path: "/srv/notes/today.md", content: "Buy milk\n" },
  definition: "d",
  rule: { id: "1", text: "tools that write files" },
  every: false,
  rulesVersion: "r",
  options: [
    { id: "once", text: "Yes, this once" },
    { id: "no", text: "No" },
  ],
  leftMs: 300_000,
} as const;

/** Asks the devices of a Computer whether a tool may run. */
export function askDevices(
  { confirm }: Approvals,
  request: Partial<ConfirmRequest>,
): Asked {
  const withdrawn = new AbortController();
  const late: Confirmed[] = [];
  const { tool = REQUEST.tool } = request;
  const confirmed = Promise.resolve(confirm({
    ...REQUEST,
    late: (answer) => late.push(answer as Confirmed),
    ...request,
  }, withdrawn.signal));
  const answer = inTime(`the answer about ${tool}`, confirmed);
  answer.catch(() => {});
  return {
    answer: answer as Promise<Confirmed>,
    end: (reason) => withdrawn.abort(reason),
    late,
  };
}

/** Waits until taps count, and taps a button. */
export async function tap(page: Tab["page"], name: RegExp): Promise<void> {
  const button = page.getByRole("button", { name });
  await button.and(page.locator(":not([aria-disabled])")).click();
}
