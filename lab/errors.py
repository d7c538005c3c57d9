# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the lab ends with when something is wrong."""


class LabError(Exception):
    """A message for the user, and the status to exit with."""

    status = 1


class NotUnderstood(LabError):
    """The command line names what there is not, or options that do not go together."""

    status = 2


class MissingTool(LabError):
    """Something has to be installed, or done as root; the message is the command."""

    status = 2


class BoardError(LabError):
    """A board faulted, hung or never came up."""
