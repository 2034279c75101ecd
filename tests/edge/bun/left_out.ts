/**
 * The tests of the suites that cannot pass on Bun, with the reason. They run, too, and have to fail: one
 * that passes has to be taken out of its list. Only those of `BY_CHANCE` do not run: whether they pass
 * depends on the speed of the machine, or on when memory is collected.
 *
 * @module
 */
import { LEFT_OUT as ON_DENO } from "../../fetch/left_out.ts";
import type { LeftOut } from "./in_bun/register.ts";

type Reasons = Readonly<Record<string, readonly string[]>>;

/** Those of Agents, Computers and the commands that fail. */
const MEMBERS: Reasons = {
  "JavaScriptCore does not say where JSON is invalid": [
    "each typical mistake prints one line with cause and remedy, and exits with its code",
  ],
  "Bun does not say when a certificate has expired": [
    "what is reached through a proxy names it when it fails",
  ],
  "Bun says in other words that nothing listens": [
    "an MCP server over sse that is not there is an error with its address, without what is secret in it",
    "an MCP server over streamable that is not there is an error with its address, without what is secret in it",
  ],
  "about Deno: its version, files, log and clients": [
    "protocol §8.6: what is not given out is refused with its code and reason",
    "every command prints the versions of package, protocol and runtime",
    "smcp-computer import imports servers of other programs, makes inputs of secrets, and shows none",
  ],
};

/** Those of a server that listens by `node:http` that fail. */
const LISTENING: Reasons = {
  "Bun's HTTPS servers keep the certificates that they began with": [
    "reloadTls() does not switch client certificates on or off, which a reload cannot enforce",
    "reloadTls() replaces certificates for new connections, and open ones stay",
    "the command accepts certificates by flag, and reloads them at SIGHUP without dropping connections",
  ],
  "Bun does not tell of handshakes that fail": [
    "the command logs for each failed handshake which side lacks what, and nothing for port checks",
  ],
  "Bun shows a TCP connection with its first request": [
    "an address has a maximum of TCP connections, with or without a session; others are answered with 429",
    "connections through a trusted proxy are not counted by address, only in total",
  ],
  "Bun itself answers a request with an invalid target": [
    "unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless",
  ],
  "Bun takes a second body over node:http while the first one arrives": [
    "a second body at once ends the session [fast]",
    "a second body at once ends the session [stock]",
  ],
  "Bun has a package ws of its own": [
    "frames in the segment of the upgrade request are read [stock]",
    "too many fragments close with 1008, even empty ones [stock]",
  ],
  "about Deno: its version, tracing and handler": [
    "--help and --version exit 0",
    "with OTEL_DENO the command's spans are exported",
  ],
};

/** Those of a server behind `Bun.serve` that fail. */
const SERVED: Reasons = {
  "Bun names the charset of JSON": [
    "requests over polling have the answers of Engine.IO, with their types [fast]",
  ],
  "Bun's close frames have a code": [
    "close() of the server closes each WebSocket by a close frame [fast]",
  ],
  "about Deno.serve": [
    "createSmcpServer() with an adapter is the same server",
    "deno serve prints no line of its own when it answers requests that are short, polls and calls",
    "deno serve serves the page's module; at SIGTERM clients are disconnected so that they reconnect",
    "of several isolates of one program the youngest serves, others say why they do not",
    "the page's Deno.serve drains at SIGTERM, and ends",
    "with OTEL_DENO the command's spans are exported",
    "without an authenticator other machines get 403, until insecure says otherwise",
  ],
  "about the command, which listens by node:http": [
    "the command accepts certificates by flag, and reloads them at SIGHUP without dropping connections",
    "the command logs for each failed handshake which side lacks what, and nothing for port checks",
  ],
};

/** Those that pass or fail by chance, by what runs them. */
const BY_CHANCE = {
  members: {
    "Bun's child processes read ahead of the test, by as much as there is time for":
      [
        "a Computer's log reports dropped lines once it is read again",
      ],
    "Bun has no gc() of V8, and collects memory when it likes": [
      "an MCP server killed during a call, 50 times: error at once, restarted, nothing left",
    ],
  },
  listening: {
    "Bun's child processes read ahead of the test, by as much as there is time for":
      [
        "an unread log blocks no one: lines are omitted, counted, and reported when it is read again (protocol §10)",
      ],
  },
  served: {
    "a place is free as soon as Bun has cut a client off, which the test may see or not":
      [
        "a client that does not read loses its session at queuedBytes, and keeps its place until it is gone",
        "a client that never answers the close keeps its place, and gives it back when it is gone",
      ],
    "Bun has no gc() of V8, and collects memory when it likes": [
      "1,000 connections take less than 40 KiB of the heap each, both ends",
    ],
  },
} satisfies Record<string, Reasons>;

/** What no platform counts for the server. */
const COUNTED = [
  "more than a hundred control frames per second close with 1008",
  "too many fragments close with 1008, even empty ones [fast]",
];

/** Suites with bounds of memory, which Bun gives back later than Deno. */
export const OF_MEMORY: readonly string[] = [
  "tests/e2e/server/hostile/held_text_test.ts",
  "tests/e2e/server/hostile/memory_test.ts",
  "tests/e2e/server/hostile/packets_test.ts",
  "tests/wire/unfinished_message_test.ts",
];

/** What Bun's WebSockets keep, unlike those of Deno, and what is in one of those suites. */
const KEPT = new Set([
  "a message has at most 64 KiB before there is a session, then 8 MiB",
  "a slow upload of 8 MiB passes, over many heartbeats without room for pongs",
  "a stalled message closes its sender with 1008 after 20 seconds",
  ...ON_DENO.cutOff,
  ...ON_DENO.frames.filter((name) => !COUNTED.includes(name)),
  "an invalid upgrade is refused, or its WebSocket closed immediately [fast]",
]);

const namesOf = (reasons: Reasons): string[] => Object.values(reasons).flat();

/** Tests of Agents, Computers and the commands. */
export const LEFT_OUT_OF_MEMBERS: LeftOut = {
  failing: namesOf(MEMBERS),
  byChance: namesOf(BY_CHANCE.members),
};

/** Tests of a server that listens by `node:http`. */
export const LEFT_OUT_OF_LISTENING: LeftOut = {
  failing: namesOf(LISTENING),
  byChance: namesOf(BY_CHANCE.listening),
};

/** Tests of a server behind `Bun.serve`. */
export const LEFT_OUT_OVER_FETCH: LeftOut = {
  failing: [
    ...namesOf(ON_DENO).filter((name) => !KEPT.has(name)),
    ...namesOf(SERVED),
  ],
  byChance: namesOf(BY_CHANCE.served),
};
