import type { MCPServerConfig } from "../../protocol/mod.ts";
import { urlCredentials } from "../mcp/inherited_variables.ts";
import { REDACTED, SECRET_NAME } from "../redact_text.ts";

/**
 * Takes secret values out of a text, such as what a MCP server printed before it died.
 *
 * Found as they are, as JSON writes them and as URLs write them.
 */
export function hideValues(text: string, values: Iterable<string>): string {
  const forms = new Set<string>();
  for (const value of values) {
    forms.add(value);
    forms.add(JSON.stringify(value).slice(1, -1));
    forms.add(encodeURIComponent(value.toWellFormed()));
  }
  forms.delete("");
  // The longest first: one value may be the beginning of another.
  return [...forms].sort((a, b) => b.length - a.length)
    .reduce((hidden, form) => hidden.replaceAll(form, REDACTED), text);
}

/**
 * The variables and headers of a configuration whose names say that they are secret, and the
 * credentials in variables that are URLs.
 */
export function secretsIn(
  { type, server_parameters }: MCPServerConfig,
): string[] {
  const named = type === "stdio"
    ? server_parameters.env
    : server_parameters.headers;
  const secrets = Object.entries(named ?? {})
    .filter(([name]) => SECRET_NAME.test(name) || /cookie/i.test(name))
    .flatMap(([, value]) => {
      const text = `${value}`;
      return [text, text.replace(/^(Bearer|Basic)\s+/i, "")];
    });
  return type === "stdio"
    ? [...secrets, ...urlCredentials(server_parameters.env ?? {})]
    : secrets;
}
