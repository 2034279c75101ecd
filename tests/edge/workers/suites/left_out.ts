/**
 * The tests of the suites that cannot pass over a Worker, with the reason. `suites_test.ts` runs them, too:
 * one that passes has to be taken out of this list.
 *
 * @module
 */

/** Why a test cannot pass. */
const REASONS = {
  inside:
    "looks into the server's process, or gives it a function: counts, the log, clusters",
  listener: "about node:http servers, TCP connections, and their end",
  counts: "the Worker answers /health without asking its objects",
  fronts: "each front counts the sessions of an address for itself",
  ids: "ids of sessions begin with the name of their front",
} as const;

/** Names of tests, by reason. */
export const LEFT_OUT: Readonly<
  Record<keyof typeof REASONS, readonly string[]>
> = {
  inside: [
    "12 agents racing for one office: exactly one wins, 100 rounds (spec §5), slow offices",
    "CONNECT in the payload of a DISCONNECT closes the connection [fast]",
    "CONNECT whose payload is refused is answered by CONNECT_ERROR [fast]",
    "DISCONNECT ends the session; CONNECT over the same connection opens another [fast]",
    "a close packet over a WebSocket ends the session [fast]",
    "a failing cluster causes an error answer without details (spec §6)",
    "a join whose socket is already closed leaves no member behind (spec §3), slow offices",
    "a refused version is audited with both versions (0.4 §15.1)",
    "a request is checked in the order payload, member, role, agent, target (spec §5)",
    "an agent of the same instance takes its seat over under any name (spec §9), slow offices",
    "an agent that gives another name acts under the name of its seat: for the computer, in notifications and in the audit log (spec §5)",
    "events of one socket take effect in the order of their arrival (spec §3), slow offices",
    "list_room is checked in the order payload, member, role, agent, office (spec §5)",
    "members of all versions meet in one office, each with its own version (0.4 §18)",
    "offices that take a while to join make no difference for calls",
    "the same instance takes its seat over: leave, disconnect, enter (spec §9), slow offices",
    "updates: only from members, from computers, and about themselves; the ack carries the error (spec §3, §5)",
  ],
  listener: [
    "a refused upgrade gets its answer, and is closed even if its client never closes",
    "close() ends the sessions of every version, and their offices hear of it (0.4 §18)",
    "close() of the server closes each WebSocket by a close frame [fast]",
    "listen() rejects when the port is in use",
    "the end of TCP without a close packet ends the session [fast]",
    "the app explains what is missing when it is served without node:http",
    "the app works inside an existing Hono app and HTTP server, with other upgrades",
    "unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless",
  ],
  counts: [
    "/health of several versions counts each; of one version it is as before, and so are /metrics (0.4 §18)",
    "GET /health returns ok, the protocol version and counts",
  ],
  fronts: [
    "sessions of an address count together, whatever their versions (0.4 §18)",
  ],
  ids: [
    "a session opens over a WebSocket, and offers no upgrade [fast]",
    "a session opens over polling, and offers an upgrade [fast]",
  ],
};
