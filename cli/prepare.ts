/**
 * Prepares the process of a command: a closed output does not end it, variables of a file are read,
 * and a missing permission to read the environment ends it with one line.
 *
 * Import this first: packages that read the environment would end the process with a stack trace.
 *
 * @module
 */
import process from "node:process";
import { loadProxiesBy } from "../client/network/proxy.ts";
import { reasonOf } from "../client/errors.ts";
import { EnvFileError, loadEnvFile } from "./env_file.ts";
import { outliveConsole, outliveOutput } from "./output.ts";
import { printError } from "./print.ts";

// A binary has only what its bundler finds.
loadProxiesBy(() => import("https-proxy-agent"));
outliveOutput(process.stdout, process.stderr);
outliveConsole(console);
try {
  Object.keys(process.env);
  loadEnvFile(process.env);
} catch (error) {
  printError(`error: ${reasonOf(error)}`);
  process.exit(error instanceof EnvFileError ? 2 : 1);
}
