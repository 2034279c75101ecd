/** The floor: a relay that forwards each frame unchanged, on the WebSockets of `Deno.serve`. */
import { Groups } from "./groups.ts";

const groups = new Groups<WebSocket>();

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(`listening on ${port}`),
}, (request) => {
  const { socket, response } = Deno.upgradeWebSocket(request);
  const group = groups.enter(request.url, socket);
  socket.onmessage = ({ data }) => {
    for (const other of group) if (other !== socket) other.send(data);
  };
  return response;
});
