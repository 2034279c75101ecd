import { parse, TomlError } from "smol-toml";
import { ConfigError } from "./problem.ts";
import type { ReadData } from "./json_text.ts";

/**
 * Reads the TOML file of Codex, of which only `mcp_servers` is ours.
 *
 * @param file name for errors
 * @throws {ConfigError} when the text is not TOML
 */
export function readTomlText(text: string, file: string): ReadData {
  try {
    const { mcp_servers = {} } = parse(text.replace(/^\ufeff/, ""));
    return { value: { mcp_servers }, problems: [], locate: () => undefined };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column, message } = error;
    const [, what = "it is not TOML"] = /: (.*)$/m.exec(message) ?? [];
    throw new ConfigError(
      file,
      [{ path: [], text: `Cannot read it as TOML: ${what}` }],
      () => `${line}:${column}`,
    );
  }
}
