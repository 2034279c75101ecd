/**
 * Inside a machine of {@linkcode startMachine}: passes connections to ports on to Unix sockets, which
 * lead out of its network. Each argument is `PORT=PATH`.
 *
 * @module
 */
for (const argument of Deno.args) {
  const [port, path = ""] = argument.split("=");
  void forward(
    Deno.listen({ hostname: "127.0.0.1", port: Number(port) }),
    path,
  );
}
console.log("forwarding");

async function forward(listener: Deno.Listener, path: string): Promise<void> {
  for await (const near of listener) {
    const far = await Deno.connect({ transport: "unix", path });
    // Either side may break off.
    void near.readable.pipeTo(far.writable).catch(() => {});
    void far.readable.pipeTo(near.writable).catch(() => {});
  }
}
