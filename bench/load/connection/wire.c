#include "connection/wire.h"

#include "connection/template.h"

size_t frame_header(uint8_t *to, uint8_t opcode, uint64_t length) {
  size_t at = 0;
  to[at++] = 0x80 | opcode;
  int bytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
  to[at++] = 0x80 | (bytes == 0 ? (uint8_t)length : bytes == 2 ? 126 : 127);
  for (int i = bytes - 1; i >= 0; i--) to[at++] = (uint8_t)(length >> (8 * i));
  for (int i = 0; i < 4; i++) to[at++] = MASK;
  return at;
}

uint64_t header_length_field(const uint8_t *header) {
  int bytes = header[1] == 126 ? 2 : header[1] == 127 ? 8 : 0;
  if (bytes == 0) return header[1] & 127;
  uint64_t length = 0;
  for (int i = 0; i < bytes; i++) length = length << 8 | header[2 + i];
  return length;
}

size_t read_ack_id(const char *packet, size_t length, size_t from, uint32_t *id) {
  size_t at = from;
  *id = 0;
  while (at < length && packet[at] >= '0' && packet[at] <= '9') {
    *id = *id * 10 + (uint32_t)(packet[at++] - '0');
  }
  return at > from && at < length && packet[at] == '[' ? at : 0;
}
