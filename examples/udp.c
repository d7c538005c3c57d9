/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* UDP, a question and an answer: the server reads the datagram where it lies and
 * builds the answer in the packet that will be sent; the client sends by copy. */
#include <stdio.h>
#include <string.h>

#include "pair.h"

static bool done;

static void serve(struct plumb_udp *socket, struct plumb_packet *payload,
                  const struct plumb_udp_source *source, void *context) {
    struct plumb_packet *answer = plumb_udp_take(socket, payload->total);
    (void)context;
    if (!answer)
        return;
    plumb_packet_copy_out(payload, 0, answer->data, payload->total);
    for (unsigned i = 0; i < answer->length; i++)
        if (answer->data[i] >= 'a' && answer->data[i] <= 'z')
            answer->data[i] = (uint8_t)(answer->data[i] - 'a' + 'A');
    plumb_udp_send_packet(socket, source->from, answer); /* the packet is the stack's now */
}

static void hear(struct plumb_udp *socket, struct plumb_packet *payload,
                 const struct plumb_udp_source *source, void *context) {
    (void)socket;
    (void)source;
    (void)context;
    printf("client: answer \"%.*s\"\n", payload->length, (const char *)payload->data);
    done = payload->length == 5 && !memcmp(payload->data, "PLUMB", 5);
}

int main(void) {
    struct pair pair = pair_create();
    struct plumb_udp *server, *client;
    pair_check(plumb_udp_open(pair.server, pair_server(7), serve, NULL, &server), "open");
    pair_check(plumb_udp_open(pair.client, (struct plumb_endpoint){.port = 0}, hear, NULL, &client),
               "open");
    pair_check(plumb_udp_send(client, pair_server(7), "plumb", 5), "send");
    printf("client: asked from port %u\n", plumb_udp_port(client));
    return pair_run(&pair, &done);
}
