/** Whether this machine lacks what builds the load generator. */
export const NO_COMPILER: boolean = Deno.build.os !== "linux" ||
  await new Deno.Command("cc", { args: ["--version"] }).output()
    .then(({ success }) => !success, () => true);
