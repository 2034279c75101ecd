/**
 * Calls a function once the body of a response has ended, however it ended; at once where there is
 * none.
 *
 * @returns the response to send instead
 */
export function onBodyEnd(response: Response, ended: () => void): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    ended();
    return response;
  }
  const reader = body.getReader();
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    async cancel(reason) {
      ended();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(watched, { status, statusText, headers });
}
