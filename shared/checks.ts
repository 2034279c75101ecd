/** Maximum edit distance of a word that counts as misspelled. */
const MAX_EDITS = 2;

/**
 * Finds the known word that a misspelled one most likely stands for; undefined if no word is close.
 *
 * Ignores case, `_` and `-`: `forbiddenTools` is `forbidden_tools`. At least half of the letters of a
 * short word must match.
 */
export function nearestWord(
  word: string,
  known: readonly string[],
): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, "");
  const plainWord = plain(word);
  if (plainWord.length > MAX_WORD_CHARACTERS) return undefined;
  let best: { word: string; edits: number } | undefined;
  for (const candidate of known.slice(0, MAX_CANDIDATES)) {
    if (candidate.length > 2 * MAX_WORD_CHARACTERS) continue;
    const edits = distance(plainWord, plain(candidate));
    const limit = Math.min(MAX_EDITS, Math.floor(plain(candidate).length / 2));
    if (edits <= limit && edits < (best?.edits ?? Infinity)) {
      best = { word: candidate, edits };
    }
  }
  return best?.word;
}

/** Longer texts are not compared: no known word is that long. */
const MAX_WORD_CHARACTERS = 64;
/** More words are not compared: they may be of an MCP server, which can list any number. */
const MAX_CANDIDATES = 1_000;

/** Computes the edit distance, counting swapped neighbours as one edit (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] &&
        a[i - 2] === b[j - 1];
      row.push(Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (same ? 0 : 1),
        swapped ? at(i - 2, j - 2) + 1 : Infinity,
      ));
    }
  }
  return at(a.length, b.length);
}

/**
 * The most characters of a Computer's name that MCP clients see as it is: half of the 48 that a tool's
 * name has by default, less what comes between the two.
 */
export const MAX_PLAIN_NAME = 22;

/** Between the parts of a tool's name. */
export const NAME_SEPARATOR = "__";

/** Before the hash with which a name ends that is not as it was. */
export const NAME_HASH = "--";

/** Whether a name ends as only one with a hash may. */
export const hasHash = (name: string): boolean =>
  /--([0-9a-v]{8}|[0-9a-v]{10})$/.test(name);

/**
 * Whether the name of a Computer or an MCP server can begin the names of tools as it is:
 * `laptop__echo`. Of others MCP clients see what is left of the name, and a hash.
 *
 * @param most the most characters that it may have
 */
export const isPlainName = (name: string, most = MAX_PLAIN_NAME): boolean =>
  /^[\w-]+$/.test(name) && name.length <= most &&
  !name.includes(NAME_SEPARATOR) && !name.endsWith("_") && !hasHash(name);

/**
 * The names of an object's fields, and of the fields of those that are objects; `*` allows others, too.
 * Numbers stand for fields as well, so that a table of defaults is one of names.
 */
export interface NameTable {
  readonly [name: string]: true | number | NameTable;
}

/** A table of all names of `T`, and no other: `{ … } satisfies NamesOf<Options>`. */
export type NamesOf<T> = Readonly<
  Record<T extends unknown ? keyof T : never, NameTable[string]>
>;

/**
 * Checks that options are an object that has no other names than its type, which JavaScript and spread
 * objects allow: a misspelled option would be ignored, as a number would be in their place.
 *
 * A nested one may also be absent, switched off, or a function that makes it; other checks decide that.
 *
 * @param taker the function or class that takes it, such as `createSmcpServer()`
 * @param path of the object in the one that the function takes, with a dot at its end
 * @throws {TypeError} that names the first other name, also of one that is `undefined`, and the closest one
 */
export function checkNames(
  options: unknown,
  names: NameTable,
  taker: string,
  path = "",
): void {
  const isGiven = path === "" ? options !== undefined : options != null;
  const isOff = path !== "" && options === false;
  if (!isGiven || isOff || typeof options === "function") return;
  if (
    typeof options !== "object" || Array.isArray(options) || options === null
  ) {
    throw noObject(options, names, taker, path);
  }
  for (const name of Object.keys(options)) {
    const known = Object.hasOwn(names, name) ? names[name] : names["*"];
    if (known === undefined) throw misspelled(path, name, names, taker);
    if (typeof known !== "object") continue;
    checkNames(
      Reflect.get(options, name),
      known,
      taker,
      `${path}${name}.`,
    );
  }
}

/** Does not show the value, which may be a key or token. */
function noObject(
  options: unknown,
  names: NameTable,
  taker: string,
  path: string,
): TypeError {
  const place = path === ""
    ? `options of ${taker}`
    : `option ${JSON.stringify(path.slice(0, -1))} of ${taker}`;
  const given = options === null
    ? "null"
    : Array.isArray(options)
    ? "a list"
    : `a value of type ${typeof options}`;
  return new TypeError(
    `Cannot use the ${place}: expected an object with ${
      Object.keys(names).join(", ")
    }, got ${given}`,
  );
}

function misspelled(
  path: string,
  name: string,
  names: NameTable,
  taker: string,
): TypeError {
  const here = Object.keys(names);
  const below = Object.entries(names).flatMap(([group, table]) =>
    typeof table === "object"
      ? Object.keys(table).map((each) => [group, each])
      : []
  );
  // An option is also looked for one level too high, such as `token` for `auth.token`.
  const known = [...here.map((each) => [each]), ...below];
  const meant = nearestWord(name, known.map((each) => each.at(-1) ?? ""));
  const found = known.find((each) => each.at(-1) === meant);
  const remedy = found === undefined
    ? `expected one of ${here.join(", ")}`
    : `did you mean ${JSON.stringify(path + found.join("."))}?`;
  return new TypeError(
    `Cannot use the option ${
      JSON.stringify(path + name)
    } of ${taker}: unknown; ${remedy}`,
  );
}

/**
 * Checks that options are numbers, where they are given.
 *
 * A text such as `"5"` compares like a number, but is appended where a number would be added.
 *
 * @param options by the names that callers use
 * @throws {TypeError} that names the first option that is no number
 */
export function checkNumbers(options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || typeof value === "number") continue;
    throw new TypeError(
      `Cannot use ${name}: expected a number, got ${shown(value)}`,
    );
  }
}

function shown(value: unknown): string {
  if (typeof value === "string") return `the text ${JSON.stringify(value)}`;
  return value === null ? "null" : `a value of type ${typeof value}`;
}

/** An object without the fields that are `undefined`. */
export type Present<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & {
    [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<
      T[K],
      undefined
    >;
  };

/** Leaves out the fields that are `undefined`, which a receiver would take for given. */
export const present = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Present<T>;
