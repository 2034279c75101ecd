/** A configuration file, deleted at the end of the scope. */
export interface ConfigFile extends AsyncDisposable {
  /** Its path. */
  readonly file: string;
}

/** Writes a Computer's configuration, in any format. */
export async function configFile(config: object): Promise<ConfigFile> {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return { file, [Symbol.asyncDispose]: () => Deno.remove(file) };
}
