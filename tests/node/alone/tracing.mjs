// The Server's command, until it is stopped; its own dependencies are installed.
import process from "node:process";

process.argv.push("--port=0", "--tracing");
await import("@a2c-smcp/sdk/server/main");
