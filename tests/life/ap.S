/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The start of the second processor. main() copies ap_start to AP_PAGE, where a
 * start-up interrupt begins in real mode.
 */
#define AP_PAGE     0x8000

    .section .rodata
    .balign 16
    .global ap_start, ap_end
    .code16
ap_start:
    cli
    xorw    %ax, %ax
    movw    %ax, %ds
    lgdtl   AP_PAGE + (ap_gdt_at - ap_start)
    movl    %cr0, %eax
    orl     $1, %eax
    movl    %eax, %cr0
    ljmpl   $8, $ap_flat
    .balign 8
ap_gdt_at:
    .word   ap_gdt_end - ap_gdt - 1
    .long   ap_gdt
ap_end:
    .balign 8
ap_gdt:
    .quad   0, 0x00cf9b000000ffff, 0x00cf93000000ffff   /* flat: code, data */
ap_gdt_end:

    .text
    .code32
ap_flat:
    movw    $16, %ax
    movw    %ax, %ds
    movw    %ax, %es
    movw    %ax, %ss
    movl    $ap_stack_end, %esp
    call    ap_main
1:  cli
    hlt
    jmp     1b

    .bss
    .balign 16
    .skip   16384
ap_stack_end:

    .section .note.GNU-stack, "", @progbits
