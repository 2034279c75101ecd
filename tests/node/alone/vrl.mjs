import { SmcpComputer } from "@a2c-smcp/sdk/computer";

const computer = new SmcpComputer({
  url: "http://127.0.0.1:1", // is never connected to
  name: "pc",
  servers: {},
});
try {
  await computer.addServer("fixture", {
    type: "stdio",
    disabled: true,
    server_parameters: { command: "never" },
    vrl: ".text = 1",
  });
} finally {
  await computer.close();
}
console.log("works");
