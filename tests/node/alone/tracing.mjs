// The Server's command, until it is stopped; what it needs itself is installed.
import process from "node:process";

process.argv.push("--port=0", "--tracing");
await import("@a2c-smcp/sdk/server/main");
