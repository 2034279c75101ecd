/**
 * The server's end-to-end suites, over the entry for `fetch` instead of `listen()`: an import map puts
 * `listening_server.ts` in the place of `server/mod.ts`.
 *
 * @module
 */
import { testSuites } from "../support/run_suites.ts";
import { LEFT_OUT } from "./left_out.ts";
import { IGNORED, SUITES } from "./suites.ts";

testSuites("fetch", {
  paths: SUITES,
  ignored: IGNORED,
  server: "tests/fetch/listening_server.ts",
  preload: "tests/fetch/preload.ts",
}, LEFT_OUT);
