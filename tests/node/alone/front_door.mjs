import { createSmcpServer } from "@a2c-smcp/sdk";

await createSmcpServer().close();
console.log("works");
