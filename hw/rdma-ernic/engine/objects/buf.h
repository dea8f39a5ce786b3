/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A buffer in guest memory: one extent, a private copy of a page list, or pieces of any
 * length. Queues and memory regions use it.
 */
#ifndef ERNIC_OBJECTS_BUF_H
#define ERNIC_OBJECTS_BUF_H

#include "base/device.h"
#include "hw/rdma-ernic/ernic_abi.h"

/* Entries per access to a list, and per page of a two-level list. */
#define ERNIC_BUF_LIST  512

/*
 * Bits of an address below page_shift are ignored: they can be set after the pages of a
 * region became larger.
 */
typedef struct ErnicBuf {
    uint64_t *page;             /* npages addresses, owned; NULL: an extent */
    uint64_t base;              /* of an extent */
    uint32_t npages;
    uint8_t page_shift;
    /*
     * page[] is a list of pieces instead: of each the number of bytes up to its end, and
     * its address. The first @used of them are valid, and none of these is empty.
     */
    bool pieces;
    uint32_t offset;            /* of the buffer's first byte in its first page */
    uint32_t used;
} ErnicBuf;

/*
 * Before page[0]: who sends the list ahead (state/precopy.h) marks how much was sent.
 * A change of the list clears the mark.
 */
typedef struct ErnicBufMark {
    uint32_t number;            /* 0: no part was sent */
    uint32_t done;              /* entries */
} ErnicBufMark;

static inline ErnicBufMark *ernic_buf_mark(const ErnicBuf *buf)
{
    return (ErnicBufMark *)(buf->page - 1);
}

/* Bytes that the list of @buf has, for the account. */
static inline uint64_t ernic_buf_list_bytes(const ErnicBuf *buf)
{
    return buf->page ? (1 + (uint64_t)buf->npages) * sizeof(*buf->page) : 0;
}

/* Entries of page[] for a piece. */
#define ERNIC_BUF_PIECE 2
/* A piece of fewer bytes is small; a buffer may have as many of them. */
#define ERNIC_BUF_SMALL 512
#define ERNIC_BUF_SMALLS 16

/*
 * Initialize @buf from @desc (little-endian), which has to cover @bytes. The page
 * list is read from guest memory here and never again. On ERNIC_ERR_RESERVED,
 * ERNIC_ERR_PARAM, ERNIC_ERR_NO_RESOURCE and ERNIC_ERR_DMA @buf owns nothing. On
 * ERNIC_AGAIN (base/work.h) the same call continues where the slice ended.
 */
uint8_t ernic_buf_init(Ernic *e, ErnicBuf *buf,
                       const struct ernic_buf_desc *desc, uint64_t bytes);
/*
 * The same from a list that the interface has copied already: @npages big-endian
 * addresses at @list, whose lowest 3 bits are flags of the interface. The buffer begins
 * at byte
 * @offset of the first page. On ERNIC_AGAIN repeat the call with the same list.
 */
uint8_t ernic_buf_init_pages(Ernic *e, ErnicBuf *buf, const uint8_t *list,
                             uint32_t npages, uint8_t page_shift, uint32_t offset,
                             uint64_t bytes);
/* Allocate room for @max_pages pages, at least 1; for fast registration. */
uint8_t ernic_buf_alloc(Ernic *e, ErnicBuf *buf, uint32_t max_pages);
/*
 * Read the first @npages addresses from the list at @list, and set the others to 0;
 * on failure, all of them: in one call, so the buffer has at most ERNIC_MAX_FRWR_PAGES.
 * The status is that of ernic_buf_init().
 */
uint8_t ernic_buf_fill(Ernic *e, ErnicBuf *buf, uint64_t list, uint32_t npages,
                       uint8_t page_shift);
void ernic_buf_fini(Ernic *e, ErnicBuf *buf);

/* The same for @max pieces. */
uint8_t ernic_buf_alloc_pieces(Ernic *e, ErnicBuf *buf, uint32_t max);
/*
 * Add a piece of @len bytes, at least 1, to a buffer with room for it. The first @used of
 * the others stay.
 */
void ernic_buf_add_piece(ErnicBuf *buf, uint64_t addr, uint32_t len);
/* The number of bytes in all pieces. */
uint64_t ernic_buf_pieces_end(const ErnicBuf *buf);
/*
 * Whether few enough pieces are small, so that a packet is in a bounded number of them.
 */
bool ernic_buf_few_small(const ErnicBuf *buf);
/*
 * The guest address of byte @off, and in *@run the number of contiguous bytes from
 * there (at least 1; no limit for an extent). @off is inside the buffer: the
 * caller checked.
 */
uint64_t ernic_buf_addr(const ErnicBuf *buf, uint64_t off, uint64_t *run);
/* Copy from or to the buffer; false: the DMA to guest memory failed. */
bool ernic_buf_read(Ernic *e, const ErnicBuf *buf, uint64_t off, void *data,
                    uint64_t len);
bool ernic_buf_write(Ernic *e, const ErnicBuf *buf, uint64_t off,
                     const void *data, uint64_t len);

/* Whether the queue depth @depth is a power of two from @min to @max. */
static inline bool ernic_depth_ok(uint32_t depth, uint32_t min, uint32_t max)
{
    return depth >= min && depth <= max && (depth & (depth - 1)) == 0;
}

#endif /* ERNIC_OBJECTS_BUF_H */
