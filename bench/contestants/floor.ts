/** The floor: a relay that forwards each frame unchanged, on the WebSockets of `Deno.serve`. */
const groups = new Map<string | null, WebSocket[]>();

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`listening on ${port}`),
}, (request) => {
  const { socket, response } = Deno.upgradeWebSocket(request);
  const name = new URL(request.url).searchParams.get("group");
  const group = groups.get(name) ?? [];
  groups.set(name, group);
  group.push(socket);
  socket.onmessage = ({ data }) => {
    for (const other of group) if (other !== socket) other.send(data);
  };
  return response;
});
