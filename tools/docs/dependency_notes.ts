/** What a package is for, and what would replace it; `instead` says why it has not been. */
export interface DependencyNote {
  readonly use: string;
  readonly instead: string;
}

/** The packages that published code imports, by name; `std-semver` is `@std/semver` on npm. */
export const RUNTIME_NOTES: Readonly<Record<string, DependencyNote>> = {
  "@bpinternal/verel": {
    use: "compiles and runs VRL programs, in WebAssembly",
    instead: "no other build of VRL for JavaScript; without it no `vrl`",
  },
  "@clack/prompts": {
    use: "questions of the Computer's terminal",
    instead: "`node:readline`, with menus and masked input of our own",
  },
  "@hono/node-server": {
    use: "serves Hono apps on `node:http`",
    instead:
      "100 lines between `Request` and `node:http`; Hono's own is tested",
  },
  "@logtape/logtape": {
    use: "log records that the application's own sinks take",
    instead: "an event of our own; no platform has structured logs",
  },
  "@modelcontextprotocol/client": {
    use: "the pipe of `smcp-agent mcp`, as a client of a Server's `/mcp`",
    instead: "nothing: the official SDK",
  },
  "@modelcontextprotocol/sdk": {
    use: "reaches MCP servers from the Computer, OAuth included",
    instead:
      "`@modelcontextprotocol/client`, its successor: other transports and another OAuth",
  },
  "@modelcontextprotocol/server": {
    use: "an office as one MCP server",
    instead: "nothing: the official SDK",
  },
  "@opentelemetry/api": {
    use: "spans, in the tracer of the application (`--tracing`)",
    instead: "nothing: the interface is the standard",
  },
  "@types/ws": {
    use: "types of `ws`, for the compiler alone",
    instead: "types within `ws`",
  },
  "@types/yauzl": {
    use: "types of `yauzl`, for the compiler alone",
    instead: "types within `yauzl`",
  },
  aws4fetch: {
    use: "signs requests and URIs for S3",
    instead:
      "100 lines of Web Crypto; signatures of credentials are better not ours",
  },
  commander: {
    use: "commands, flags and help",
    instead: "`parseArgs` of `node:util`, without help, variables and choices",
  },
  "engine.io": {
    use: "transports below Socket.IO; pinned with it",
    instead: "nothing: it is half of the protocol",
  },
  hono: {
    use: "routes of the Server, and of the Computer's page",
    instead: "nothing: the Server is a Hono app by design",
  },
  "https-proxy-agent": {
    use: "tunnels to a Server through an HTTP proxy",
    instead:
      "Node's own agent takes a proxy since 24, and Deno's `node:http` none",
  },
  jose: {
    use: "verifies JWTs, with keys by URL that change",
    instead: "Web Crypto, with 500 lines of JWT and JWK of our own",
  },
  "jsonc-parser": {
    use: "JSON with comments, with the place of each mistake",
    instead: "`JSON.parse`, without comments and places",
  },
  mime: {
    use: "the extension of a published document, by its media type",
    instead: "a table of our own, which would be out of date",
  },
  "modern-tar": {
    use: "unpacks skills, and packs releases",
    instead: "`tar` of the system, which Windows and containers may lack",
  },
  oauth4webapi: {
    use: "signs people in at an OpenID provider (`--sign-in-with`)",
    instead:
      "`openid-client`, which is this package and more; or 400 lines of checks on `jose`",
  },
  redis: {
    use: "a cluster's connections to Redis and Valkey",
    instead: "`ioredis`, which advises new projects to take this one",
  },
  "smol-toml": {
    use: "the configuration of Codex, for `import`",
    instead: "a parser of TOML of our own, 600 lines",
  },
  "socket.io": {
    use: "the Server's sessions",
    instead: "nothing: the protocol is Socket.IO",
  },
  "socket.io-client": {
    use: "the connection of Agents and Computers",
    instead: "nothing: the protocol is Socket.IO",
  },
  "socket.io-parser": {
    use:
      "reads and writes heads of packets in `server/wire`, and bounds what clients parse; pinned",
    instead: "nothing: it comes with Socket.IO",
  },
  "std-semver": {
    use: "parses and compares versions of the protocol (`@std/semver`)",
    instead: "30 lines; the customer asks for it",
  },
  uqr: {
    use: "the QR code of `smcp-computer pair`",
    instead: "400 lines of Reed-Solomon and masks; or the link alone",
  },
  ws: {
    use: "`--ws-engine stock`; Engine.IO brings it",
    instead: "the WebSockets of `server/wire`, which are the default",
  },
  yaml: {
    use: "front matter of skills",
    instead: "no parser in a platform; `@std/yaml` is on JSR alone",
  },
  yauzl: {
    use: "unpacks skills, entry by entry, with limits",
    instead: "`fflate`, which unpacks all at once into memory",
  },
  zod: {
    use: "validates payloads and configurations; `zod/mini` in the protocol",
    instead: "`valibot`, with other schemas; the MCP SDK brings zod anyway",
  },
};

/** The packages of tests, benches and tools, which nothing published imports. */
export const WORKSHOP_NOTES: Readonly<Record<string, DependencyNote>> = {
  "@babel/parser": {
    use: "reads the source for its mutants (`deno task mutate`)",
    instead: "the compiler of TypeScript, 25 MB; or rules of `deno lint`",
  },
  "@babel/types": {
    use: "walks what `@babel/parser` has read",
    instead: "a walk of our own",
  },
  "@hpke/core": {
    use: "a second HPKE, for that of `shared/approvals/`",
    instead: "the vectors of RFC 9180 alone",
  },
  "@modelcontextprotocol/ext-tasks": {
    use: "a client of tasks that is not ours, in tests",
    instead: "requests by hand, which would agree with our own reading",
  },
  "@modelcontextprotocol/server-memory": {
    use: "a reference MCP server in tests",
    instead: "another one of them",
  },
  "@xterm/addon-unicode11": {
    use: "widths of characters in the terminal of tests",
    instead: "nothing: belongs to `@xterm/headless`",
  },
  "@xterm/headless": {
    use: "shows what a user sees of the live view and the shell",
    instead: "no other terminal without a screen",
  },
  ajv: {
    use: "checks the JSON Schema of the configuration",
    instead: "any other validator of JSON Schema",
  },
  "ajv-formats": {
    use: "the formats by which MCP clients check results",
    instead: "without it, schemas with formats would not be compiled",
  },
  assemblyscript: {
    use: "compiles the scanner of the relay (`deno task build:scan`)",
    instead: "C or Rust, with a toolchain to install",
  },
  "axe-core": {
    use: "accessibility of the pages",
    instead: "nothing comparable",
  },
  "deno-std": {
    use: "assertions of tests (`@std/assert`)",
    instead: "JSR, where that can be reached",
  },
  express: {
    use: "MCP servers over HTTP as others write them",
    instead: "`node:http`",
  },
  "fast-check": {
    use: "random input with the smallest failing case",
    instead: "random input without it",
  },
  fflate: {
    use: "zip archives of releases for Windows",
    instead: "`zip` of the system",
  },
  "oidc-provider": {
    use: "a real OpenID provider for `--sign-in-with`",
    instead: "one of our own, which would agree with our own reading",
  },
  "parse-prometheus-text-format": {
    use: "reads the metrics as Prometheus would",
    instead: "regular expressions, which prove less",
  },
  "playwright-core": {
    use: "drives Chromium",
    instead: "its debugging protocol, by hand",
  },
  selfsigned: {
    use: "certificates for tests of TLS",
    instead: "`openssl` of the system",
  },
  "web-push": {
    use: "a second sender of Web Push, for what `computer/approvals/` sends",
    instead: "the vector of RFC 8291 alone",
  },
};
