import type { OfficeMcpOptions } from "../options.ts";

/** How one client sees an office, as the query of its URL says it: `/mcp/OFFICE?tools=search`. */
export type ViewOptions = Pick<
  OfficeMcpOptions,
  | "computer"
  | "include"
  | "exclude"
  | "tools"
  | "nameLimit"
  | "callTimeoutMs"
  | "lenient"
  | "desktopTools"
>;

/** Milliseconds in a second: queries count in seconds, like the flags of the same names. */
const SECOND_MS = 1000;

/** Reads the values of a parameter. */
type Reader = (values: readonly string[], name: string) => ViewOptions;

/** The parameters; all but the patterns are given once. */
const PARAMETERS: Readonly<Record<string, Reader>> = {
  computer: (values, name) => ({ computer: single(values, name) }),
  include: (include) => ({ include }),
  exclude: (exclude) => ({ exclude }),
  tools: (values, name) => {
    const tools = single(values, name);
    if (tools === "all" || tools === "search") return { tools };
    throw wrong(name, tools, '"all" or "search"');
  },
  "name-limit": (values, name) => ({ nameLimit: number(values, name) }),
  timeout: (values, name) => ({
    callTimeoutMs: number(values, name) * SECOND_MS,
  }),
  lenient: (values, name) => ({ lenient: onOff(values, name) }),
  "desktop-tools": (values, name) => ({ desktopTools: onOff(values, name) }),
};

/**
 * Reads how a client wants to see an office.
 *
 * @throws {TypeError} naming a parameter that does not exist, or its value
 */
export function readView(query: URLSearchParams): ViewOptions {
  const view: ViewOptions = {};
  for (const name of new Set(query.keys())) {
    const read = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
    if (read === undefined) {
      throw new TypeError(
        `There is no parameter ${JSON.stringify(name)}: expected one of ${
          Object.keys(PARAMETERS).join(", ")
        }`,
      );
    }
    Object.assign(view, read(query.getAll(name), name));
  }
  return view;
}

/** Writes what {@linkcode readView} reads. */
export function writeView(view: ViewOptions): URLSearchParams {
  const { computer, include, exclude, tools, nameLimit, callTimeoutMs } = view;
  const seconds = callTimeoutMs === undefined
    ? undefined
    : callTimeoutMs / SECOND_MS;
  const pairs: [string, string | number | undefined][] = [
    ["computer", computer],
    ...(include ?? []).map((each): [string, string] => ["include", each]),
    ...(exclude ?? []).map((each): [string, string] => ["exclude", each]),
    ["tools", tools],
    ["name-limit", nameLimit],
    ["timeout", seconds],
    ["lenient", digit(view.lenient)],
    ["desktop-tools", digit(view.desktopTools)],
  ];
  const query = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== undefined) query.append(name, String(value));
  }
  return query;
}

const digit = (value: boolean | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

function onOff(values: readonly string[], name: string): boolean {
  const text = single(values, name);
  if (text === "1" || text === "0") return text === "1";
  throw wrong(name, text, "1 or 0");
}

function single(values: readonly string[], name: string): string {
  const [value = "", ...others] = values;
  if (others.length > 0) throw new TypeError(`${name} is given more than once`);
  if (value === "") throw wrong(name, value, "a value");
  return value;
}

function number(values: readonly string[], name: string): number {
  const text = single(values, name);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw wrong(name, text, "a whole number");
}

const wrong = (name: string, value: string, expected: string): TypeError =>
  new TypeError(
    `Cannot use ${name} ${JSON.stringify(value)}: expected ${expected}`,
  );
