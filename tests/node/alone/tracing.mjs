// The Server's command; its own dependencies are installed.
import process from "node:process";

process.argv.push("--port=0", "--tracing");
await import("@a2c-smcp/sdk/server/main");
console.log("works");
process.kill(process.pid, "SIGTERM");
