#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Turns Kconfig and an optional .config into plumb_config.h.

usage: kconfig.py KCONFIG HEADER [CONFIG | NAME=VALUE ...]

Arguments after the header are files in .config form or single settings such
as PLUMB_TCP_CONNECTIONS=64 or PLUMB_DHCP=n; later ones win. The header is
touched only when its text changes. Exit status 2 with a message on a setting
that does not exist or is out of range.
"""

import pathlib
import sys

import kconfiglib


def apply_setting(kconfig, setting):
    name, _, value = setting.partition("=")
    symbol = kconfig.syms.get(name)
    if symbol is None or not symbol.nodes:
        fail(f"no option {name} in Kconfig")
    if not symbol.set_value(value) or symbol.str_value != value:
        fail(f"{name} cannot be {value!r}")


def main(arguments):
    if len(arguments) < 2:
        fail(__doc__.strip())
    kconfig = kconfiglib.Kconfig(arguments[0], warn_to_stderr=False)
    header = pathlib.Path(arguments[1])
    for argument in arguments[2:]:
        if "=" in argument:
            apply_setting(kconfig, argument)
        else:
            kconfig.load_config(argument, replace=False)
    if kconfig.warnings:
        fail("\n".join(kconfig.warnings))
    header.parent.mkdir(parents=True, exist_ok=True)
    text = (
        "/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n"
        "/* Made from Kconfig by cmake/kconfig.py; change options there. */\n"
        "#ifndef PLUMB_CONFIG_H\n#define PLUMB_CONFIG_H\n"
    )
    for symbol in kconfig.unique_defined_syms:
        line = symbol.config_string
        if line.startswith("CONFIG_"):
            name, _, value = line.strip().partition("=")
            text += f"#define {name} {'1' if value == 'y' else value}\n"
    text += "#endif\n"
    if not header.exists() or header.read_text() != text:
        header.write_text(text)


def fail(message):
    print(f"kconfig.py: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
