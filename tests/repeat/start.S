/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The start of the program: a Multiboot header (version 0.6.96), its own segments,
 * and the interrupt entry that calls C.
 */
#define MAGIC   0x1badb002
#define FLAGS   0

    .section .multiboot, "a"
    .balign 4
    .long   MAGIC, FLAGS, -(MAGIC + FLAGS)

    .text
    .global _start, irq_entry
_start:
    lgdt    gdt_at
    ljmp    $8, $1f
1:  movw    $16, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movl    $stack_end, %esp
    call    main
2:  cli
    hlt
    jmp     2b

irq_entry:
    pushal
    cld
    call    irq
    popal
    iretl

    .section .rodata
    .balign 8
gdt:
    .quad   0, 0x00cf9b000000ffff, 0x00cf93000000ffff   /* flat: code, data */
gdt_at:
    .word   gdt_at - gdt - 1
    .long   gdt

    .bss
    .balign 16
    .skip   16384
stack_end:

    .section .note.GNU-stack, "", @progbits
