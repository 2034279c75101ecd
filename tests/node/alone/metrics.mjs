import { createMetrics, createSmcpServer } from "@a2c-smcp/sdk/server";

await createSmcpServer({ metrics: await createMetrics() }).close();
console.log("works");
