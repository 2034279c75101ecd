/**
 * The program of the Workers that tests start, bundled from the npm tarball: the options come by bindings,
 * and an object can be ended.
 *
 * @module
 */
import {
  type ApiKey,
  apiKeys,
  createMetrics,
  type ObjectState,
  smcpWorker,
  type SmcpWorkerOptions,
} from "../../../server/workers/mod.ts";
import { approvals } from "../../../server/approvals/mod.ts";
import { signIn } from "../../../server/workers/sign_in.ts";
import { mcpGateway } from "../../../mcp/mod.ts";

/** The bindings of a Worker. */
export interface Bindings {
  readonly OPTIONS: SmcpWorkerOptions;
  /** Those of `apiKeys()`. */
  readonly KEYS?: readonly ApiKey[];
  /** Whether it has MCP. */
  readonly MCP?: boolean;
  /** Whether it has metrics. */
  readonly METRICS?: boolean;
  /** The secret of its sign-in, if it has one. */
  readonly SIGN_IN?: string;
  /** Whether it has approvals. */
  readonly APPROVALS?: boolean;
  /** Whether objects lose the registry's messages that a grant has ended, and look around all the time. */
  readonly LOSSY?: boolean;
}

/** What runtimes have besides. */
type Abortable = ObjectState & { abort(reason: string): void };

interface Env extends Bindings {
  readonly FRONT: Namespace;
  readonly OFFICE: Namespace;
}

interface Namespace {
  idFromName(name: string): object;
  get(id: object): { fetch(request: Request): Promise<Response> };
}

const made = smcpWorker((
  { OPTIONS, KEYS, MCP = false, METRICS = false, SIGN_IN, APPROVALS }: Env,
) => ({
  ...OPTIONS,
  ...(KEYS && { authenticator: apiKeys(KEYS) }),
  ...(MCP && { gateway: mcpGateway() }),
  ...(METRICS && { metrics: createMetrics }),
  ...(APPROVALS && { approvals: approvals() }),
  ...(SIGN_IN !== undefined && { signIn: signIn({ secret: SIGN_IN }) }),
}));

/** Ends an object, with all that it has in memory: `?front=eu-1` or `?office=office:home`. */
const ABORT = "/.test/abort";

const realInterval = globalThis.setInterval;

/** Where objects send each other what concerns the sign-in. */
const SIGN_IN = "https://object/.smcp/sign-in";

const isAbort = ({ url }: Request) => new URL(url).pathname === ABORT;

/** A class of objects that a test can end. */
const abortable = (Base: typeof made.Front) =>
  class extends Base {
    readonly #state: Abortable;

    readonly #isLossy: boolean;

    constructor(state: Abortable, env: Env) {
      super(state, env);
      this.#state = state;
      this.#isLossy = env.LOSSY ?? false;
      if (this.#isLossy) {
        globalThis.setInterval =
          ((callBack: () => void) =>
            realInterval(callBack, 50)) as typeof setInterval;
      }
    }

    override async fetch(request: Request): Promise<Response> {
      if (isAbort(request)) this.#state.abort("a test ends it");
      if (this.#isLossy && request.url === SIGN_IN) {
        const text = await request.clone().text();
        if (text === '["ended"]') return Response.json([]);
      }
      return await super.fetch(request);
    }
  };

export const Front = abortable(made.Front);
export const Office = abortable(made.Office);

/** By this a test asks the store of the sign-in, as objects do. */
const STORE = "/.test/sign-in";

const worker = {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).pathname === STORE) {
      return await env.OFFICE.get(env.OFFICE.idFromName("registry"))
        .fetch(new Request(SIGN_IN, request));
    }
    if (!isAbort(request)) return await made.worker.fetch(request, env);
    const { searchParams } = new URL(request.url);
    const front = searchParams.get("front");
    const space = front === null ? env.OFFICE : env.FRONT;
    const id = space.idFromName(front ?? searchParams.get("office") ?? "");
    await space.get(id).fetch(request).catch(() => {});
    return new Response("ended");
  },
};

export default worker;
