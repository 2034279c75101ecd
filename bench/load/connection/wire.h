/** The framing of WebSockets, and the heads of Socket.IO packets. */
#ifndef WIRE_H
#define WIRE_H
#include <stddef.h>
#include <stdint.h>

/** Writes the header of a masked frame that is not split; returns its length, at most 14. */
size_t frame_header(uint8_t *to, uint8_t opcode, uint64_t length);

/** Returns the payload's length, from the complete header of an unmasked frame. */
uint64_t header_length_field(const uint8_t *header);

/**
 * Reads the ack id behind a packet's namespace.
 *
 * @return where the arguments start; 0 when there is no id or no argument
 */
size_t read_ack_id(const char *packet, size_t length, size_t from, uint32_t *id);
#endif
