/**
 * Loaded before the suites that run over the entry for `fetch`.
 *
 * @module
 */
import { leaveOut } from "../support/leave_out.ts";
import { LEFT_OUT } from "./left_out.ts";

leaveOut(LEFT_OUT, "tests/fetch/left_out.ts");
