/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The transport of commands: an entry of the command queue, and the chains of mailboxes
 * that hold what does not fit into it. Functions over bytes that the caller has copied
 * from guest memory; all of these bytes are untrusted.
 *
 * The first 16 bytes of a message are in the entry, the next in mailboxes with 512
 * bytes each. Software links the mailboxes of both messages and numbers them from 0.
 */
#ifndef ERNIC_INTERFACES_MLX5_COMMAND_ENTRY_H
#define ERNIC_INTERFACES_MLX5_COMMAND_ENTRY_H

#define ERNIC_MLX5_ENTRY_SIZE   64
#define ERNIC_MLX5_INLINE_SIZE  16
#define ERNIC_MLX5_BOX_SIZE     576
#define ERNIC_MLX5_BOX_DATA     512
#define ERNIC_MLX5_BOX_ALIGN    512

/* Opcode and modifier; status and syndrome. */
#define ERNIC_MLX5_MESSAGE_MIN  8
/* The page list of 2 GiB, which is also the longest message of Linux's driver. */
#define ERNIC_MLX5_MESSAGE_MAX \
    (ERNIC_MLX5_INLINE_SIZE + (0x80000000u / 4096) * 8 + ERNIC_MLX5_BOX_DATA)

/* Status of an entry: why a command was not executed at all. */
typedef enum ErnicMlx5Delivery {
    ERNIC_MLX5_DELIVERY_OK = 0x0,
    ERNIC_MLX5_DELIVERY_SIGNATURE = 0x1,
    ERNIC_MLX5_DELIVERY_TOKEN = 0x2,
    ERNIC_MLX5_DELIVERY_BOX_NUMBER = 0x3,
    ERNIC_MLX5_DELIVERY_OUT_ALIGN = 0x4,
    ERNIC_MLX5_DELIVERY_IN_ALIGN = 0x5,
    ERNIC_MLX5_DELIVERY_INTERNAL = 0x6,
    ERNIC_MLX5_DELIVERY_IN_LENGTH = 0x7,
    ERNIC_MLX5_DELIVERY_OUT_LENGTH = 0x8,
    ERNIC_MLX5_DELIVERY_RESERVED = 0x9,
    ERNIC_MLX5_DELIVERY_DESCRIPTOR = 0x10,
} ErnicMlx5Delivery;

/* The mailboxes of one message that are still to come. */
typedef struct ErnicMlx5Chain {
    uint64_t addr;              /* of the next mailbox */
    uint32_t number;            /* its number */
    uint32_t left;              /* bytes of the message in it and after it; 0: end */
    uint8_t token;
    bool out;                   /* of the answer */
} ErnicMlx5Chain;

typedef struct ErnicMlx5Entry {
    uint32_t in_len, out_len;   /* bytes, ERNIC_MLX5_MESSAGE_MIN to ..._MAX */
    uint8_t in[ERNIC_MLX5_INLINE_SIZE];
    ErnicMlx5Chain in_chain, out_chain;
} ErnicMlx5Entry;

/* Whether the device owns the entry. */
bool ernic_mlx5_entry_posted(const uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE]);

/* The exclusive or of all bytes, which a valid signature makes 0xff. */
uint8_t ernic_mlx5_xor(const uint8_t *bytes, size_t len);

/* Check an entry that the device owns. @entry is valid only with ..._OK. */
ErnicMlx5Delivery ernic_mlx5_entry_decode(const uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE],
                                          ErnicMlx5Entry *entry);

/*
 * Check the mailbox at @chain->addr, and advance to the next one. *@len is the number
 * of bytes of the message that belong into this mailbox. A chain ends after as many
 * mailboxes as its message needs, whatever the last one links to.
 */
ErnicMlx5Delivery ernic_mlx5_chain_step(ErnicMlx5Chain *chain,
                                        const uint8_t box[ERNIC_MLX5_BOX_SIZE],
                                        uint32_t *len);

/*
 * Complete the entry: the first bytes of the answer, the status and the signature. The
 * last byte returns the entry to software, so it is written to memory after the rest.
 * The signature is, as in hardware, that of an entry which the device still owns.
 */
void ernic_mlx5_entry_complete(uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE],
                               const uint8_t out[ERNIC_MLX5_INLINE_SIZE],
                               ErnicMlx5Delivery status);

#endif /* ERNIC_INTERFACES_MLX5_COMMAND_ENTRY_H */
