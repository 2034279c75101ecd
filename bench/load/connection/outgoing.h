/** Sends data of connections, and queues it while a socket is full. */
#ifndef OUTGOING_H
#define OUTGOING_H
#include "connection/connection.h"

/** Sends two parts as one; the first is copied when the socket is full, the second stays where it is. */
void send_parts(struct connection *c, const uint8_t *first, size_t first_length,
                const uint8_t *rest, size_t rest_length);

/** Sends a frame of up to 1000 bytes. */
void send_frame(struct connection *c, uint8_t opcode, const char *text, size_t length);

/** Sends a short text frame. */
void send_text(struct connection *c, const char *text, size_t length);

/** Sends a text frame of a head and a message with this id. */
void send_template(struct connection *c, const char *head, size_t head_length,
                   const struct template *t, uint64_t id);

/** Continues sending when the socket is writable again. */
void send_waiting(struct connection *c);
#endif
