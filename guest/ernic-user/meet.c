/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The exchange of both ends over TCP, in lines of text.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ernic-user.h"

static int wait_for_peer(unsigned port)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, peer;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
        bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
        listen(fd, 1)) {
        err(1, "TCP port %u", port);
    }
    peer = accept(fd, NULL, NULL);
    if (peer < 0) {
        err(1, "accept");
    }
    close(fd);
    return peer;
}

static int call_peer(const char *host, unsigned port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd, tries;

    if (!inet_aton(host, &to.sin_addr)) {
        errx(1, "%s is not an IPv4 address", host);
    }
    for (tries = 0; tries < 100; tries++) {         /* it may not listen yet */
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (!connect(fd, (struct sockaddr *)&to, sizeof(to))) {
            return fd;
        }
        close(fd);
        usleep(100000);
    }
    err(1, "%s does not answer at TCP port %u", host, port);
}

FILE *meet(const char *host, unsigned port)
{
    int fd = host ? call_peer(host, port) : wait_for_peer(port);
    FILE *peer = fdopen(fd, "r+");

    setvbuf(peer, NULL, _IONBF, 0);
    return peer;
}

static void own_mac(const char *name, uint8_t *mac)
{
    struct ifaddrs *all, *one;

    if (getifaddrs(&all)) {
        err(1, "getifaddrs");
    }
    for (one = all; one; one = one->ifa_next) {
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_PACKET &&
            !strcmp(one->ifa_name, name)) {
            memcpy(mac, ((struct sockaddr_ll *)one->ifa_addr)->sll_addr, 6);
        }
    }
    freeifaddrs(all);
}

void own_address(FILE *peer, struct end *own)
{
    struct sockaddr_in self;
    socklen_t len = sizeof(self);
    struct ifaddrs *all, *one;

    if (getsockname(fileno(peer), (struct sockaddr *)&self, &len) ||
        getifaddrs(&all)) {
        err(1, "getsockname");
    }
    own->ip = ntohl(self.sin_addr.s_addr);
    for (one = all; one; one = one->ifa_next) {
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
            ((struct sockaddr_in *)one->ifa_addr)->sin_addr.s_addr ==
            self.sin_addr.s_addr) {
            own_mac(one->ifa_name, own->mac);
        }
    }
    freeifaddrs(all);
}

void send_line(FILE *peer, const char *format, ...)
{
    char line[256];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (fprintf(peer, "%s\n", line) < 0) {
        errx(1, "the peer has gone");
    }
}

bool read_line(FILE *peer, char *line, int size)
{
    if (!fgets(line, size, peer)) {
        return false;
    }
    line[strcspn(line, "\n")] = 0;
    return true;
}

void introduce(FILE *peer, const struct end *own, struct end *other)
{
    const uint8_t *m = own->mac;
    uint8_t *o = other->mac;
    char line[256];

    send_line(peer, "%u %u %u %02x:%02x:%02x:%02x:%02x:%02x %" PRIu64 " %u %" PRIu64
        " %u %u", own->qpn, own->psn, own->ip, m[0], m[1], m[2], m[3], m[4], m[5],
        own->va, own->rkey, own->bytes, own->slot, own->mtu);
    if (!read_line(peer, line, sizeof(line)) ||
        sscanf(line, "%u %u %u %hhx:%hhx:%hhx:%hhx:%hhx:%hhx %" SCNu64 " %u %"
               SCNu64 " %u %u",
               &other->qpn, &other->psn, &other->ip, &o[0], &o[1], &o[2], &o[3],
               &o[4], &o[5], &other->va, &other->rkey, &other->bytes,
               &other->slot, &other->mtu) != 14) {
        errx(1, "the peer does not introduce itself");
    }
}
