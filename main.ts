/**
 * The command `up`: a Server and this machine's Computer in one process.
 *
 * ```sh
 * deno run -A mod.ts up --config computer.json
 * ```
 *
 * `mod.ts` loads this when it is the program that is run; npm's `smcp` always does.
 *
 * @module
 */
import "./cli/prepare.ts";
import { runUp } from "./computer/cli/up.ts";
import { createSmcpServer } from "./server/mod.ts";

await runUp(createSmcpServer);
