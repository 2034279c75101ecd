/**
 * The tests of the suites that cannot pass over a Worker, with the reason. `suites_test.ts` runs them, too:
 * one that passes has to be taken out of this list.
 *
 * @module
 */

/** Names of tests, by reason. */
export const LEFT_OUT: Readonly<
  Record<string, readonly string[]>
> = {
  "looks into the server's process, or gives it a function: counts, the log, clusters":
    [
      "12 agents racing for one office: exactly one wins, 100 rounds (protocol §5), slow offices",
      "CONNECT in the payload of a DISCONNECT closes the connection [fast]",
      "CONNECT whose payload is refused is answered by CONNECT_ERROR [fast]",
      "DISCONNECT ends the session; CONNECT over the same connection opens another [fast]",
      "a close packet over a WebSocket ends the session, as do a ping of the client and the end of TCP [fast]",
      "a join whose socket is already closed leaves no member behind (protocol §3), slow offices",
      "a refused version is audited with both versions (protocol §2)",
      "events of one socket take effect in the order of their arrival (protocol §3), slow offices",
      "the same instance takes its seat over: leave, disconnect, enter (protocol §9), local offices",
      "the same instance takes its seat over: leave, disconnect, enter (protocol §9), slow offices",
    ],
  "about node:http servers, TCP connections, and their end": [
    "a refused upgrade gets its answer, and is closed even if its client never closes",
    "close() of the server closes each WebSocket by a close frame [fast]",
    "createSmcpServer() refuses an unknown engine, and an invalid rate",
    "listen() rejects when the port is in use",
    "the app explains what is missing when it is served without node:http",
    "the app works inside an existing Hono app and HTTP server, with other upgrades",
    "unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless",
  ],
  "the Worker answers /health without asking its objects": [
    "/health of several versions counts each; of one version it is as before, and so are /metrics (protocol §14)",
  ],
  "ids of sessions begin with the name of their front": [
    "a session opens with an id of its own, and offers an upgrade over polling alone [fast]",
  ],
};
