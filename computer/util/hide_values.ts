import type { MCPServerConfig } from "../../protocol/mod.ts";
import { urlCredentials } from "./inherited_variables.ts";
import { REDACTED, SECRET_NAME } from "./redact_text.ts";
import { secretForms } from "./secret_forms.ts";

/**
 * Replaces secret values in a text, in every form of {@linkcode secretForms}.
 */
export function hideValues(text: string, values: Iterable<string>): string {
  const pattern = secretPattern(values);
  return pattern ? text.replaceAll(pattern, REDACTED) : text;
}

/** Builds a pattern that matches every form of each value; undefined if there are no forms. */
export function secretPattern(values: Iterable<string>): RegExp | undefined {
  const forms = new Set([...values].flatMap(secretForms));
  if (forms.size === 0) return undefined;
  // Longest first: one value may be a prefix of another.
  const longest = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(
    longest.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join("|"),
    "g",
  );
}

/**
 * Collects the values of variables and headers with a secret-sounding name, and the credentials in
 * variables that are URLs.
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
