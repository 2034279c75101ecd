/** A test of a suite, or a step of one. */
export interface Registered {
  /** Its name. */
  readonly name: string;
  /** Whether it is skipped. */
  readonly ignore?: boolean;
  /** How long it may take. */
  readonly timeout?: number;
  /** Runs it. */
  fn(context: Context): void | Promise<void>;
}

/** What a test gets. */
export interface Context {
  /** Runs a step; one that fails fails the test. */
  step(
    name: string | Registered,
    fn?: Registered["fn"],
  ): Promise<boolean>;
}

/** Names of tests that are left out. */
export interface LeftOut {
  /** They run, and have to fail. */
  readonly failing: readonly string[];
  /** They do not run: whether they pass depends on time or memory. */
  readonly byChance: readonly string[];
}

/** Stands before the name of a test that has failed as it should. */
export const FAILING_MARK = "left out: ";

/** Stands before the name of a test that exists, and did not run. */
export const BY_CHANCE_MARK = "not run: ";

type Hook = () => void | Promise<void>;

/** The tests, in the order of their registration. */
export const registered: Registered[] = [];
/** What runs before all of them. */
export const before: Hook[] = [];
/** What runs after all of them. */
export const after: Hook[] = [];

/** Returns the definition that the arguments of `Deno.test` make: a name, options and a function, or some of them. */
function definitionOf(args: readonly unknown[]): Registered {
  const given: Partial<Record<keyof Registered, unknown>> = {};
  for (const arg of args) {
    if (typeof arg === "string") given.name = arg;
    else if (typeof arg === "function") given.fn = arg;
    else Object.assign(given, arg);
  }
  return given as Registered & typeof given;
}

/** `Deno.test`. */
export const test = Object.assign(
  (...args: unknown[]) => void registered.push(definitionOf(args)),
  {
    ignore: (...args: unknown[]) =>
      void registered.push({ ...definitionOf(args), ignore: true }),
    beforeAll: (hook: Hook) => void before.push(hook),
    afterAll: (hook: Hook) => void after.push(hook),
  },
);

/** What a test gets, whose steps run one after the other. */
export const context: Context = {
  async step(...args) {
    const { fn, ignore = false } = definitionOf(args);
    if (!ignore) await fn(context);
    return !ignore;
  },
};
