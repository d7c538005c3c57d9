# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lab: builds Plumb, boots boards, measures them, reports."""
