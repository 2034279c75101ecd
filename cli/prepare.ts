/**
 * Makes the process ready to be a command: its output may be closed, and an environment that it may
 * not read ends it with one line.
 *
 * Imported first of all, before packages are loaded that read the environment and would end the
 * process with a stack trace.
 *
 * @module
 */
import process from "node:process";
import { reasonOf } from "../client/reason.ts";
import { outliveOutput } from "./closed_output.ts";

outliveOutput(process.stdout, process.stderr);
try {
  Object.keys(process.env);
} catch (error) {
  console.error(`error: ${reasonOf(error)}`);
  process.exit(1);
}
