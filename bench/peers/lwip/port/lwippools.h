/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pools in the heap's place: headers and acknowledgements; segments. */
LWIP_MALLOC_MEMPOOL_START
LWIP_MALLOC_MEMPOOL(128, 128)
LWIP_MALLOC_MEMPOOL(96, 1600)
LWIP_MALLOC_MEMPOOL_END
