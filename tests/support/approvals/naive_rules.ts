/**
 * Rules a second time, as simply as the docs have them: a witness for `computer/rules`, of which it uses
 * nothing.
 *
 * @module
 */

type Rule = Readonly<Record<string, unknown>>;
type Truth = "yes" | "no" | "unknown";

interface Call {
  readonly agent: string;
  readonly servers: readonly string[];
  readonly tools: readonly string[];
  readonly params: Readonly<Record<string, unknown>>;
}

export function naiveFirstMatch(rules: readonly object[], call: Call): number {
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i] as Rule;
    if (!isAbout(rule.agent, [call.agent])) continue;
    if (!isAbout(rule.server, call.servers)) continue;
    if (!isAbout(rule.tool, call.tools)) continue;
    const truths = Object.entries(Object(rule.when)).map(([name, wanted]) =>
      Object.keys(call.params).includes(name)
        ? all(
          Object.entries(Object(wanted)).map(([kind, value]) =>
            condition(kind, call.params[name], value)
          ),
        )
        : "no"
    );
    const truth = all(truths);
    if (rule.then === "allow") {
      const named = Object.keys(Object(rule.when));
      const isClosed = Object.keys(call.params).every((n) => named.includes(n));
      const isOpen = rule.any === true || rule.others === "any";
      if (truth === "yes" && (isClosed || isOpen)) return i;
    } else if (truth !== "no") return i;
  }
  return -1;
}

function all(truths: readonly Truth[]): Truth {
  if (truths.includes("no")) return "no";
  return truths.includes("unknown") ? "unknown" : "yes";
}

function isAbout(glob: unknown, names: readonly string[]): boolean {
  return glob === undefined || names.some((name) => naiveGlob(`${glob}`, name));
}

export function naiveGlob(glob: string, text: string): boolean {
  const source = [...glob].map((c) => c === "*" ? "[^]*" : `[${c}]`).join("");
  return new RegExp(`^${source}$`).test(text);
}

function condition(kind: string, value: unknown, wanted: unknown): Truth {
  const isEqual = (a: unknown, b: unknown) =>
    JSON.stringify(a) === JSON.stringify(b);
  const truth = (is: boolean): Truth => is ? "yes" : "no";
  switch (kind) {
    case "equals":
      return truth(isEqual(value, wanted));
    case "in":
      return truth((wanted as unknown[]).some((each) => isEqual(value, each)));
    case "min":
      return typeof value === "number"
        ? truth(value >= Number(wanted))
        : "unknown";
    case "max":
      return typeof value === "number"
        ? truth(value <= Number(wanted))
        : "unknown";
    case "under":
      return under(value, `${wanted}`);
    default:
      return host(value, `${wanted}`);
  }
}

/** Of the paths of the tests alone. */
function under(value: unknown, folder: string): Truth {
  if (typeof value !== "string") return "unknown";
  const own = resolved(value);
  const base = resolved(folder);
  if (own === undefined || base === undefined) return "unknown";
  const isOf = (path: string, folder: string) =>
    path === folder ||
    path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
  const isWindows = (path: string) => /^[a-z]:/.test(path);
  if (isWindows(own) !== isWindows(base)) return "unknown";
  if (isOf(own, base)) return "yes";
  return isOf(alike(own), alike(base)) ? "unknown" : "no";
}

/** Letters of one kind, composed, without the character of no width. */
const alike = (path: string): string =>
  path.replaceAll("\u200b", "").normalize("NFKC").toLowerCase();

function resolved(path: string): string | undefined {
  let text = path;
  if (/^[A-Za-z]:[\\/]/.test(text)) {
    text = text[0]?.toLowerCase() + text.slice(1).replaceAll("\\", "/");
  } else if (!text.startsWith("/")) return undefined;
  while (/\/[^/]+\/\.\.(\/|$)/.test(text)) {
    text = text.replace(/\/[^/]+\/\.\.(\/|$)/, "/");
  }
  return text.length > 1 ? text.replace(/\/$/, "") : text;
}

/** Of the URLs of the tests alone. */
function host(value: unknown, glob: string): Truth {
  const found = /^https?:\/\/([^/@]*)(\/|$)/.exec(`${value}`);
  if (typeof value !== "string" || !found) return "unknown";
  return naiveGlob(glob, `${found[1]}`.replace(/\.$/, "")) ? "yes" : "no";
}
