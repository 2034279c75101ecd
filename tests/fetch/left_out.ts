/**
 * The tests of the suites that cannot pass over the entry for `fetch`, with the reason. `suites_test.ts`
 * runs them, too: one that passes has to be taken out of this list.
 *
 * @module
 */

/** Why a test cannot pass. */
const REASONS = {
  polling: "in a cluster this entry takes WebSocket alone",
  listener: "about node:http servers, which this entry has none of",
  options: "about options that this entry refuses",
  cutOff: "the platform cannot cut off a client that does not read",
  frames: "the platform reads frames, and ends what violates RFC 6455 itself",
  sizes: "the platform collects a message before its size shows",
  sockets: "TCP connections and invalid requests are the platform's",
} as const;

/** Names of tests, by reason. */
export const LEFT_OUT: Readonly<
  Record<keyof typeof REASONS, readonly string[]>
> = {
  polling: [
    "a server that is fenced refuses new sessions with 503, one whose registry is away takes them",
    "ids of sessions name the node, and requests of other sessions are reported and answered as Engine.IO does",
  ],
  listener: [
    "listen() waits until the cluster is joined, and fails with its reason",
    "a page of a rebound name reads nothing over loopback: health, metrics, open packet",
    "a polling POST with a missing body is answered with 408 after its timeout, and its session ends (protocol §10)",
    "a refused upgrade gets its answer, and is closed even if its client never closes",
    "a separate port serves only metrics, until the server is closed",
    "listen() during or after close() rejects and leaves no port open",
    "listen() refuses a public address without authentication, unless insecure is set (protocol §10)",
    "listen() warns of a public address with keys and without TLS, and refuses it with requireTls (protocol §10)",
    "mTLS: clients without a certificate of the authority are refused; it counts as authentication (protocol §10)",
    "metrics also count in an attached HTTP server",
    "reloadTls() does not switch client certificates on or off, which a reload cannot enforce",
    "reloadTls() refuses invalid certificates, without showing them; the old ones stay",
    "reloadTls() replaces certificates for new connections, and open ones stay",
    "the app explains what is missing when it is served without node:http",
    "the app works inside an existing Hono app and HTTP server, with other upgrades",
    "without metrics there is no /metrics, and no port for them",
  ],
  options: [
    "a connection without a request is closed after the header timeout",
    "a request with missing headers is answered with 408 after the header timeout (protocol §10)",
    "createSmcpServer() refuses an unknown engine, and an invalid rate",
  ],
  cutOff: [
    "a client that does not read is disconnected at the limit, and its callers are answered (protocol §10)",
  ],
  frames: [
    "frames before an end take effect, and those after it have none (§5.5.1, §7.1.7) [fast]",
    "invalid frames and close frames end a connection with the code of RFC 6455 (§5, §7.4, §8.1) [fast]",
    "more than a hundred control frames per second close with 1008",
    "too many fragments close with 1008, even empty ones [fast]",
  ],
  sizes: [
    "a length over the limit closes with 1009, before the payload (§7.4.1) [fast]",
    "a message has at most 64 KiB before there is a session, then 8 MiB",
    "a slow upload of 8 MiB passes, over many heartbeats without room for pongs",
    "a stalled message closes its sender with 1008 after 20 seconds",
  ],
  sockets: [
    "an address has a maximum of TCP connections, with or without a session; others are answered with 429",
    "connections through a trusted proxy are not counted by address, only in total",
    "an invalid upgrade is refused, or its WebSocket closed immediately [fast]",
    "unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless",
  ],
};
