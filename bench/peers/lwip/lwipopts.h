/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* lwIP's options: its own defaults, and no system below it. */
#define NO_SYS       1
#define LWIP_NETCONN 0
#define LWIP_SOCKET  0
