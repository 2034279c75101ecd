/** The modules of Node and Deno that are used where there are any. */
interface Builtins {
  "node:buffer": typeof import("node:buffer");
  "node:crypto": typeof import("node:crypto");
  "node:fs/promises": typeof import("node:fs/promises");
}

/** The part of Node's globals that is used here. */
interface ServerGlobals {
  readonly process: {
    getBuiltinModule?<M extends keyof Builtins>(name: M): Builtins[M];
  };
}

/** Returns a module of Node and Deno; `undefined` in browsers. Not imported, since bundlers would follow the import. */
export function builtin<M extends keyof Builtins>(
  name: M,
): Builtins[M] | undefined {
  const { process }: Partial<ServerGlobals> = globalThis;
  return process?.getBuiltinModule?.(name);
}
