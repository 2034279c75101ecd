/** A configuration file, deleted at the end of the scope. */
export interface ConfigFile extends AsyncDisposable {
  /** Its path. */
  readonly file: string;
}

/** Writes a Computer's configuration. */
export async function configFile(config: {
  servers: Record<string, unknown>;
  inputs?: unknown[];
}): Promise<ConfigFile> {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return { file, [Symbol.asyncDispose]: () => Deno.remove(file) };
}
