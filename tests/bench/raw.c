/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The reference: UDP datagrams of many segments through two raw sockets. Only the
 * kernel copies data, and nothing is computed.
 */
#include "qemu/osdep.h"
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT     103
#endif
#ifndef UDP_GRO
#define UDP_GRO         104
#endif

#define BUF_BYTES       65536
#define MAX_SEGMENTS    64
#define SOCKET_BYTES    (4 * 1024 * 1024)

static struct sockaddr_in address(const char *host, uint16_t port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };

    inet_pton(AF_INET, host, &sa.sin_addr);
    return sa;
}

/* The same buffer size as the UDP link's; the kernel may grant less. */
static void set_buffer(int fd, int force, int name)
{
    int bytes = SOCKET_BYTES;

    if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) < 0) {
        setsockopt(fd, SOL_SOCKET, name, &bytes, sizeof(bytes));
    }
}

uint16_t bench_raw_init(BenchRaw *raw, const char *host)
{
    struct sockaddr_in sa = address(host, 0);
    socklen_t len = sizeof(sa);
    int on = 1;

    raw->buf = g_malloc0(BUF_BYTES);
    raw->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (raw->fd < 0 || bind(raw->fd, (void *)&sa, sizeof(sa)) < 0 ||
        getsockname(raw->fd, (void *)&sa, &len) < 0) {
        bench_die("raw socket: %s", g_strerror(errno));
    }
    set_buffer(raw->fd, SO_RCVBUFFORCE, SO_RCVBUF);
    set_buffer(raw->fd, SO_SNDBUFFORCE, SO_SNDBUF);
    if (setsockopt(raw->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) < 0) {
        bench_die("this host has no UDP_GRO: %s", g_strerror(errno));
    }
    return ntohs(sa.sin_port);
}

void bench_raw_free(BenchRaw *raw)
{
    close(raw->fd);
    g_free(raw->buf);
}

void bench_raw_send(BenchRaw *raw, const char *host, uint16_t port, uint32_t mtu)
{
    struct sockaddr_in sa = address(host, port);
    struct iovec iov = {
        .iov_base = raw->buf,
        .iov_len = mtu * MIN(ERNIC_TRAIN_BYTES / mtu, MAX_SEGMENTS),
    };
    char control[CMSG_SPACE(sizeof(uint16_t))] QEMU_ALIGNED(8) = { 0 };
    struct msghdr hdr = {
        .msg_name = &sa, .msg_namelen = sizeof(sa),
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = control, .msg_controllen = sizeof(control),
    };
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&hdr);
    uint16_t seg = mtu;

    cmsg->cmsg_level = IPPROTO_UDP;
    cmsg->cmsg_type = UDP_SEGMENT;
    cmsg->cmsg_len = CMSG_LEN(sizeof(seg));
    memcpy(CMSG_DATA(cmsg), &seg, sizeof(seg));
    if (sendmsg(raw->fd, &hdr, 0) < 0 && errno != EAGAIN) {
        bench_die("raw socket, UDP_SEGMENT: %s", g_strerror(errno));
    }
}

uint32_t bench_raw_recv(BenchRaw *raw)
{
    ssize_t n = recv(raw->fd, raw->buf, BUF_BYTES, 0);

    return MAX(n, 0);
}
