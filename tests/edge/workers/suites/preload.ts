/**
 * Loaded before the suites that run over a Worker, whose runtime lives as long as a file.
 *
 * @module
 */
import { leaveOut } from "../../../support/leave_out.ts";
import { LEFT_OUT } from "./left_out.ts";

leaveOut(LEFT_OUT, "tests/edge/workers/suites/left_out.ts", {
  sanitizeOps: false,
  sanitizeResources: false,
});
