/** A valid payload for every event that the Agent "agent" can send about the Computer "computer" of "office". */
export const ANY_REQUEST = {
  agent: "agent",
  req_id: "r1",
  computer: "computer",
  tool_name: "echo",
  params: {},
  timeout: 60,
  mcp_server: "files",
  uri: "dpe://host/doc",
  name: "prompt",
  office_id: "office",
  progress: 1,
  watch: true,
  blob_handle: "handle",
  chunk_offset: 0,
  eof: true,
  blob: "",
} as const;
