/**
 * The offices of one Server over MCP.
 *
 * An office is opened by its first request, and keeps its sessions and the names of its tools until
 * another one needs its room.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { readBytes } from "./http/body.ts";
import { refusal } from "./http/guards.ts";
import { areUsual } from "./http/quick_message.ts";
import { UseTable } from "./http/use_table.ts";
import type { ResolvedGatewayOptions } from "./options.ts";
import { ServedOffice, type ServeOffice } from "./served_office.ts";
import type {
  Gateway,
  GatewayBody,
  GatewayCaller,
  GatewayHost,
  GatewayPost,
  SeatUse,
} from "../shared/gateway.ts";

/** How long the end waits for the results of calls that have ended. */
const END_TIMEOUT_MS = 1000;
/** Characters of the id of an office: 132 random bits. */
const OFFICE_ID_LENGTH = 22;

/** The offices of a Server as MCP servers, at `/mcp/OFFICE`. */
export class McpGateway implements Gateway {
  readonly path = "/mcp";
  readonly agentName: string;
  readonly #host: GatewayHost;
  readonly #options: ResolvedGatewayOptions;
  readonly #serve: ServeOffice;
  /** By name. */
  readonly #offices = new UseTable<ServedOffice>();
  readonly #key = randomBytes(16);
  #isClosed = false;

  /** @param serve makes the MCP server of an office */
  constructor(
    host: GatewayHost,
    options: ResolvedGatewayOptions,
    serve: ServeOffice,
  ) {
    this.agentName = options.agentName;
    this.#host = host;
    this.#options = options;
    this.#serve = serve;
  }

  readonly mayAnswer = areUsual;

  async answer(
    post: GatewayPost,
    { office, ...caller }: GatewayCaller,
  ): Promise<GatewayBody | undefined> {
    const served = this.#isClosed ? undefined : this.#offices.use(office);
    return served === undefined
      ? await readBytes(post, this.#host.maxMessageBytes)
      : await served.answer(post, caller);
  }

  handle(
    request: Request,
    { office, ...caller }: GatewayCaller,
    body?: GatewayBody,
  ): Promise<Response> {
    if (this.#isClosed) {
      return Promise.resolve(refusal(503, "The server is shutting down"));
    }
    const served = this.#offices.use(office) ?? this.#open(office);
    if (served !== undefined) return served.handle(request, caller, body);
    const most = this.#options.maxOffices;
    const why = `Too many offices are in use: at most ${most} at once`;
    return Promise.resolve(refusal(503, why));
  }

  freeSeat(
    office: string,
    principal: string | undefined,
  ): Promise<SeatUse | undefined> {
    return this.#offices.get(office)?.freeSeat(principal) ??
      Promise.resolve(undefined);
  }

  forget({ office, ...caller }: GatewayCaller): void {
    this.#offices.get(office)?.forget(caller);
  }

  seatFreed(office: string): void {
    if (!this.#isClosed) this.#offices.get(office)?.seatFreed();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = this.#offices.all.map(([, office]) => office);
    await Promise.all(all.map((office) => office.callsEnded(END_TIMEOUT_MS)));
    // From the end of a call to its HTTP response there are only promises, which settle before this.
    await new Promise((resolve) => setTimeout(resolve, 0));
    await Promise.all(all.map(close));
    for (const [office] of this.#offices.all) this.#offices.delete(office);
  }

  /** @returns `undefined` when all offices are in use */
  #open(office: string): ServedOffice | undefined {
    const { maxOffices } = this.#options;
    const isIdle = (served: ServedOffice) => !served.isUsed;
    const isFree = (served: ServedOffice) => isIdle(served) && !served.hasTasks;
    const hasRoom = [isFree, isIdle].some((mayGo) =>
      this.#offices.makeRoom(maxOffices, mayGo, close)
    );
    if (!hasRoom) return undefined;
    const served = new ServedOffice(
      { office, id: this.#idOf(office) },
      this.#options,
      this.#host,
      this.#serve,
    );
    this.#offices.set(office, served);
    return served;
  }

  /**
   * The same each time that the office is opened: clients may have it from before. Other nodes of a
   * cluster give it others, and cannot serve it while its seat is taken here.
   */
  #idOf(office: string): string {
    return createHash("sha256").update(this.#key).update(office)
      .digest("base64url").slice(0, OFFICE_ID_LENGTH);
  }
}

const close = (office: ServedOffice): Promise<void> => office.close();
