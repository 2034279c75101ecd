/**
 * The offices of one Server over MCP.
 *
 * An office is opened by its first request, and keeps its sessions and the names of its tools until
 * another one needs its room. Its seat is another matter: requests, open streams and calls hold it,
 * and it is given up when nothing has held it for a while, or lent to an Agent of the same principal
 * once nothing is in flight. Commands that share the seat hold it for as long as they run.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { repeatedId } from "../agent/call_tool.ts";
import type { McpCaller } from "./http/face.ts";
import { makeRoom, refusal, untilEnd, useAt } from "./http/guards.ts";
import {
  isForSeat,
  openSeatDoor,
  type SeatDoor,
  type SeatDoorParts,
} from "./http/seat_door.ts";
import type { OfficeMcp } from "./mod.ts";
import type { AgentProvider } from "./office/office_view.ts";
import type { OfficeMcpOptions, ResolvedGatewayOptions } from "./options.ts";
import { makeSeat, type Seat, type SeatHost, Uses } from "./seat.ts";

/** How long the end waits for the results of calls that have ended. */
const END_TIMEOUT_MS = 1000;
/** How long a join waits for the end of requests. */
const MAKE_WAY_MS = 2000;
/** The share of an Agent's limits that is for calls; the rest is for all else. */
const CALL_SHARE = 0.9;
/** Characters of the id of an office: 132 random bits. */
const OFFICE_ID_LENGTH = 22;

/** Makes the MCP server of an office, as `officeMcp` does. */
type ServeOffice = (
  agent: AgentProvider,
  options: OfficeMcpOptions,
) => Pick<OfficeMcp, "handle" | "refresh" | "close">;

/** The offices of a Server as MCP servers, made by {@linkcode mcpGateway}. */
export interface McpGateway {
  /** The path before the name of an office: `/mcp`. */
  readonly path: string;
  /** Answers a request of MCP for an office, which the Server has admitted. */
  handle(
    request: Request,
    caller: McpCaller & { readonly office: string },
  ): Promise<Response>;
  /**
   * Frees the seat of an office for an Agent, once no call is in flight; only where all clients that
   * used the seat have that Agent's principal.
   *
   * @param principal as which that Agent is authenticated
   * @returns `undefined` once the seat is free; else who uses it and until when, as the rest of a sentence
   */
  makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined>;
  /** Takes the seat of an office again for open streams, after another Agent has left. */
  seatFreed(office: string): void;
  /** Ends everything, and gives up all seats. */
  close(): Promise<void>;
}

/** An office that is served, with its seat. */
interface ServedOffice {
  readonly face: ReturnType<ServeOffice>;
  /** For commands that share the seat; absent where MCP clients see a part of the office. */
  readonly door: SeatDoor | undefined;
  readonly seat: Seat;
  /** What holds the seat: requests, until their streams end, and calls. */
  readonly uses: Uses;
  /** Those of MCP clients, for which the seat is kept a while longer. */
  readonly clientUses: Uses;
  /** Requests that have no response yet. */
  readonly requests: Uses;
  /** Calls, reads and prompts, which may run on behind the response's headers. */
  readonly calls: Uses;
  /** Requests of commands, until their streams end: each command has one that holds the seat. */
  readonly visits: Uses;
  /** Which MCP clients have used the seat since it was taken: two at most, which is enough to know that they are several. */
  readonly users: Set<string | undefined>;
}

/**
 * Opens the gateway to the offices of a Server. Each has one seat for an Agent, which all MCP clients
 * share: it is taken with the first request, and given up when nobody has used it for a while. What
 * clients have been notified of, their sessions and the names of tools, stays.
 *
 * @param serve makes the MCP server of an office
 */
export function openGateway(
  host: SeatHost,
  { agentName, maxOffices, seatIdleMs, office: shown }: ResolvedGatewayOptions,
  serve: ServeOffice,
): McpGateway {
  /** By name; those used longest ago come first. */
  const offices = new Map<string, ServedOffice>();
  let isClosed = false;
  // A command would see the rest.
  const isWhole = shown.computer === undefined &&
    !shown.include?.length && !shown.exclude?.length;
  const key = randomBytes(16);
  // The same each time that the office is opened: clients may have it from before. Other nodes of a
  // cluster give it others, and cannot serve it while its seat is taken here.
  const idOf = (office: string) =>
    createHash("sha256").update(key).update(office).digest("base64url")
      .slice(0, OFFICE_ID_LENGTH);

  function open(office: string): ServedOffice | undefined {
    const isIdle = ({ uses }: ServedOffice) => uses.count === 0;
    if (!makeRoom(offices, maxOffices, isIdle, closeOffice)) return undefined;
    const seat = makeSeat({ office, id: idOf(office) }, agentName, host);
    const users = new Set<string | undefined>();
    const giveUpUnused = () => {
      if (users.size + uses.count === 0) void seat.giveUp();
    };
    // A command keeps nobody from the seat once it has ended.
    const uses = new Uses(giveUpUnused);
    const clientUses = new Uses(() => {
      users.clear();
      giveUpUnused();
    }, seatIdleMs);
    const requests = new Uses();
    const calls = new Uses();
    const admit: SeatDoorParts["admit"] = ({ reqId, principal, client }) => {
      // Without the seat nobody could cancel the call.
      const source = {
        ...(principal !== undefined && { principal }),
        ...(client && { client: `${client.name} ${client.version}` }),
      };
      return endAll(
        host.attribute(reqId, source),
        host.attribute(repeatedId(reqId), source),
        uses.begin(),
        calls.begin(),
      );
    };
    const face = serve(seat.take, {
      ...shown,
      admit: (call) => endAll(clientUses.begin(), admit(call)),
      callsPerSecond: shareOf(host.limits.eventsPerSecond),
      maxCalls: shareOf(host.limits.callsPerAgent),
      // The Server has looked at both.
      hosts: "*",
      origins: "*",
      maxBodyBytes: host.maxMessageBytes,
    });
    const maxBytes = host.maxMessageBytes;
    const door = isWhole
      ? openSeatDoor({ take: seat.take, admit, maxBytes })
      : undefined;
    const visits = new Uses();
    const served = {
      face,
      door,
      seat,
      uses,
      clientUses,
      requests,
      calls,
      visits,
      users,
    };
    offices.set(office, served);
    return served;
  }

  return {
    path: "/mcp",
    async handle(request, { office, ...caller }) {
      if (isClosed) return refusal(503, "The server is shutting down");
      const served = useAt(offices, office) ?? open(office);
      if (served === undefined) {
        const why =
          `Too many offices are in use: at most ${maxOffices} at once`;
        return refusal(503, why);
      }
      const { face, door, seat, users, uses, requests, visits } = served;
      if (uses.count === 0 && !seat.isTaken()) users.clear();
      if (isForSeat(request)) {
        if (!door) return refusal(404, "The seat is not shared here");
        const end = endAll(uses.begin(), visits.begin());
        return await untilEnd(() => door.handle(request, caller), end);
      }
      if (users.size < 2) users.add(caller.principal);
      const end = endAll(served.clientUses.begin(), uses.begin());
      const answered = requests.begin();
      try {
        const answer = () => face.handle(request, caller);
        return await untilEnd(answer, end, isStream);
      } finally {
        answered();
      }
    },
    async makeWay(office, principal) {
      const served = offices.get(office);
      if (served === undefined) return undefined;
      const { seat, users, requests, calls, visits } = served;
      const who = JSON.stringify(agentName);
      const isShared = () => [...users].some((user) => user !== principal);
      const shared =
        `${who} has it for MCP clients with other credentials, until ${
          seatIdleMs / 1000
        } seconds after their last request or stream`;
      if (isShared()) return shared;
      if (!await visits.ended(MAKE_WAY_MS)) {
        return `${who} has it for a command, until that has ended`;
      }
      const isQuiet = await requests.ended(MAKE_WAY_MS) &&
        await calls.ended(MAKE_WAY_MS) &&
        requests.count + visits.count === 0; // others may have begun meanwhile
      if (!isQuiet) {
        return `${who} has it for MCP clients, until their calls have ended: ${
          Math.max(calls.count, 1)
        } in flight`;
      }
      if (isShared()) return shared;
      await seat.lend();
      return undefined;
    },
    seatFreed(office) {
      const served = offices.get(office);
      served?.seat.returned();
      if (!served || served.uses.count === 0 || isClosed) return;
      served.face.refresh().catch(() => {
        // Somebody else was faster; the next request says so.
      });
    },
    async close() {
      isClosed = true;
      const all = [...offices.values()];
      await Promise.all(all.map(({ calls }) => calls.ended(END_TIMEOUT_MS)));
      // From the end of a call to its HTTP response there are only promises, which settle before this.
      await new Promise((resolve) => setTimeout(resolve, 0));
      await Promise.all(all.map(closeOffice));
      offices.clear();
    },
  };
}

async function closeOffice(
  { face, door, seat, uses, clientUses }: ServedOffice,
): Promise<void> {
  uses.close();
  clientUses.close();
  seat.returned();
  await Promise.all([face.close(), door?.close()]);
  await seat.giveUp();
}

const endAll = (...ends: (() => void)[]) => () => ends.forEach((end) => end());

const shareOf = (limit: number): number =>
  Math.max(1, Math.floor(limit * CALL_SHARE));

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;
