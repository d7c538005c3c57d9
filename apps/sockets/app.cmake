# SPDX-License-Identifier: Apache-2.0 OR MIT

target_link_libraries(app_sockets PUBLIC plumb_superloop)
