# SPDX-License-Identifier: Apache-2.0 OR MIT
"""python -m lab"""

from .cli import main

main()
