/* SPDX-License-Identifier: GPL-2.0 */
/* The table of metrics inside perfex: METRICS is the path of metrics.table. */
	.section .rodata
	.globl	perfex_metrics_table
	.type	perfex_metrics_table, %object
perfex_metrics_table:
	.incbin	METRICS
	.byte	0
	.size	perfex_metrics_table, . - perfex_metrics_table
	.section .note.GNU-stack, "", %progbits
