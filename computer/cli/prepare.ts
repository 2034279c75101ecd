/**
 * What a command does before anything else is loaded; to be imported first.
 *
 * @module
 */
import process from "node:process";
import { prepare } from "../../cli/prepare.ts";

prepare(process);
