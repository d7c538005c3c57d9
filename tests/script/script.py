# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet scripts: what a peer sends, what the user calls, and what the stack must send then.

A script is lines; `#` begins a comment. A line is a time and an event:

    0       s = socket                  time in seconds: absolute,
    +0.1    < SA seq 0 ack 1            after the last line,
    .       > A seq 1 ack 1             or the same as of the last line
    +0.3~0.02 > A seq 1:2 ack 1         up to so much later, as timers may be

    > FLAGS seq A[:B] ack N [win W] [<options>] [tos T]     the stack sends
    < FLAGS seq A[:B] ack N [win W] [<options>] [tos T]     the peer sends
    NAME = socket | NAME = accept LISTENER
    CALL NAME ... [= RESULT]            bind PORT, listen N, connect PORT, send BYTES, recv BYTES,
                                        shutdown rd|wr|rdwr, close, get OPTION, set OPTION VALUE,
                                        poll, peername

Flags are letters: S F R P A E(CE) W(CWR), `.` for none. Numbers are relative: the stack's to its
initial number, the peer's as it sends them. What is not said of a segment sent is not asked; of
options, `<mss 1460, ...>` says how they begin, `<...>` nothing, and no brackets that there are
none. Time is virtual: what is sent at another time than said, by a millisecond, or is not said at
all, is an error; the time it was sent is then the line's. A result that is not said may be
anything but an error; `recv` checks the bytes, which are those of a pattern by their place in the
stream. `option NAME VALUE` lines in front choose the seed and the MTU.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import packets
from packets import MASK, Segment
from plumb_harness import NEVER, Harness, sockaddr

LOCAL, REMOTE = "10.0.0.1", "192.0.2.7"
TOLERANCE_US = 1000
HOW = {"rd": 0, "wr": 1, "rdwr": 2}


class ScriptError(Exception):
    """Something was not as the script says."""


def pattern(start: int, length: int) -> bytes:
    """The bytes of a stream from a place on."""
    return bytes((at * 7 + at // 251) & 0xFF for at in range(start, start + length))


@dataclass
class Peer:
    """One connection as the peer sees it."""

    local_port: int | None = None
    remote_port: int = 50000
    base: int | None = None  # the stack's initial number


@dataclass
class Run:
    """A script under way."""

    harness: Harness
    now_us: int = 0
    said_us: int = 0  # the line's time; the stack's may be up to so much later
    tolerance_us: int = TOLERANCE_US
    deadline_us: int = 0
    peer: Peer = field(default_factory=Peer)
    names: dict[str, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)  # bytes of each descriptor's stream
    received: dict[int, int] = field(default_factory=dict)
    out: list[tuple[int, Segment]] = field(default_factory=list)

    # ---- time ----

    def poll(self) -> None:
        """Does what is due, and notes what was sent, by the time it was."""
        self.deadline_us = self.harness.poll(self.now_us)
        self.collect()

    def collect(self) -> None:
        """Takes what was sent."""
        while packet := self.harness.take():
            segment = packets.parse(packet)
            if segment.faults:
                raise ScriptError(f"sent with a wrong {segment.faults}")
            if "S" in segment.flags:
                self.peer.base = segment.seq
                self.peer.local_port = segment.source[1]
            self.out.append((self.now_us, segment))

    def run_to(self, time_us: int) -> None:
        """From deadline to deadline."""
        self.poll()
        while self.deadline_us <= time_us and self.deadline_us != NEVER:
            self.now_us = max(self.now_us, self.deadline_us)
            self.poll()
        self.now_us = time_us
        self.poll()

    def run_until_sent(self, time_us: int) -> None:
        """The same, no further than to the next segment."""
        while not self.out and self.deadline_us <= time_us and self.deadline_us != NEVER:
            self.now_us = max(self.now_us, self.deadline_us)
            self.poll()

    # ---- segments ----

    def relative(self, segment: Segment) -> str:
        """A segment sent, as the script would say it."""
        base = self.peer.base or 0
        seq = segment.seq - base & MASK
        text = f"{segment.flags} seq {seq}:{seq + len(segment.payload)}"
        if "A" in segment.flags:
            text += f" ack {segment.ack}"
        text += f" win {segment.win}"
        if segment.options:
            text += f" <{packets.describe_options(segment.options)}>"
        return text + (f" tos {segment.tos}" if segment.tos else "")

    def peer_sends(self, text: str) -> None:
        """A segment to the stack."""
        said = parse_segment(text)
        base = self.peer.base or 0
        if self.peer.local_port is None:
            raise ScriptError("nobody knows the stack's port yet")
        seq, end = said["seq"]
        segment = Segment(
            source=(REMOTE, self.peer.remote_port),
            destination=(LOCAL, self.peer.local_port),
            flags=said["flags"],
            seq=seq,
            ack=(base + said["ack"]) & MASK if said["ack"] is not None else 0,
            win=said["win"] if said["win"] is not None else 65535,
            options=packets.build_options(said["options"] or "", base),
            payload=pattern(seq - 1, end - seq),
            tos=said["tos"] or 0,
        )
        self.harness.put(packets.build(segment))
        self.poll()

    def stack_sends(self, text: str) -> None:
        """A segment that must have been sent now."""
        if not self.out:
            self.run_until_sent(self.said_us + self.tolerance_us)
        if not self.out:
            raise ScriptError("nothing was sent")
        time_us, segment = self.out.pop(0)
        actual = self.relative(segment)
        if not -TOLERANCE_US <= time_us - self.said_us <= self.tolerance_us:
            raise ScriptError(f"sent at {time_us / 1e6:.6f}: {actual}")
        self.said_us = max(self.said_us, time_us)
        faults = list(self.compare(parse_segment(text), segment))
        if faults:
            raise ScriptError(f"sent: {actual}; wrong: {', '.join(faults)}")

    def compare(self, said: dict, segment: Segment):
        """What is not as it was said."""
        seq, end = said["seq"]
        relative = segment.seq - (self.peer.base or 0) & MASK
        if sorted(said["flags"].replace(".", "")) != sorted(segment.flags):
            yield "flags"
        if (seq, end) != (relative, relative + len(segment.payload)):
            yield "seq"
        if said["ack"] is not None and said["ack"] & MASK != segment.ack:
            yield "ack"
        if said["win"] is not None and said["win"] != segment.win:
            yield "win"
        if not options_match(said["options"] or "", packets.describe_options(segment.options)):
            yield "options"
        if said["tos"] is not None and said["tos"] != segment.tos:
            yield "tos"
        if segment.payload != pattern(relative - 1, len(segment.payload)):
            yield "payload"

    def nothing_left(self) -> None:
        """What was sent and not said."""
        for time_us, segment in self.out:
            if time_us < self.said_us - TOLERANCE_US:
                at = f"{time_us / 1e6:.6f}"
                raise ScriptError(f"not said: at {at} the stack sent {self.relative(segment)}")

    # ---- calls ----

    def call(self, text: str) -> None:
        """`CALL NAME ... [= RESULT]`, or `NAME = CALL ...`."""
        if match := re.fullmatch(r"(\w+) = (socket|accept)(?: (\w+))?", text):
            self.make(*match.groups())
            return
        words, _, wanted = text.partition(" = ")
        name, who, *rest = words.split()
        result = getattr(self, f"call_{name}")(self.names[who], *rest)
        self.collect()
        failed = isinstance(result, str) and result.startswith("E")
        if str(result) != wanted if wanted else failed:
            raise ScriptError(f"the result is {result}")

    def make(self, name: str, how: str, listener: str | None) -> None:
        """A descriptor gets a name."""
        if how == "socket":
            result = self.harness.call("socket", 2, 1, 0)
        else:
            result = self.harness.call("accept", self.names[listener], None, None)
        if isinstance(result, str):
            raise ScriptError(f"the result is {result}")
        self.names[name] = result
        self.sent[result] = self.received[result] = 0

    def call_bind(self, fd: int, port: str):
        self.peer.local_port = int(port)
        return self.harness.call("bind", fd, sockaddr("0.0.0.0", int(port)), 16)

    def call_listen(self, fd: int, backlog: str):
        return self.harness.call("listen", fd, int(backlog))

    def call_connect(self, fd: int, port: str):
        self.peer.remote_port = int(port)
        return self.harness.call("connect", fd, sockaddr(REMOTE, int(port)), 16)

    def call_send(self, fd: int, length: str):
        result = self.harness.send(fd, pattern(self.sent[fd], int(length)))
        if isinstance(result, int):
            self.sent[fd] += result
        return result

    def call_recv(self, fd: int, length: str):
        got = self.harness.recv(fd, int(length))
        if isinstance(got, str):
            return got
        if got != pattern(self.received[fd], len(got)):
            raise ScriptError("other bytes were received than sent")
        self.received[fd] += len(got)
        return len(got)

    def call_shutdown(self, fd: int, how: str):
        return self.harness.call("shutdown", fd, HOW[how])

    def call_close(self, fd: int):
        return self.harness.call("close", fd)

    def call_get(self, fd: int, option: str):
        return self.harness.getsockopt(fd, option)

    def call_set(self, fd: int, option: str, *values: str):
        return self.harness.setsockopt(fd, option, *map(int, values))

    def call_poll(self, fd: int):
        return self.harness.ready(fd)

    # ---- a line ----

    def event(self, text: str) -> None:
        """What a line says behind its time."""
        if text.startswith("<"):
            self.peer_sends(text[1:].strip())
        elif text.startswith(">"):
            self.stack_sends(text[1:].strip())
        else:
            self.call(text)


def options_match(said: str, sent: str) -> bool:
    """Are options as they were said?"""
    begin, dots, _ = said.partition("...")
    return sent.startswith(begin.rstrip(", ")) if dots else sent == said


SEGMENT = re.compile(
    r"(?P<flags>[SFRPAEW.]+)(?: seq (?P<seq>-?\d+)(?::(?P<end>-?\d+))?)?(?: ack (?P<ack>-?\d+))?"
    r"(?: win (?P<win>\d+))?(?: <(?P<options>[^>]*)>)?(?: tos (?P<tos>\d+))?"
)


def parse_segment(text: str) -> dict:
    """A segment as a script says it."""
    match = SEGMENT.fullmatch(text)
    if not match:
        raise ScriptError("no segment is written like this")
    said = match.groupdict()
    seq = int(said["seq"] or 0)
    end = int(said["end"]) if said["end"] else seq
    numbers = {k: None if said[k] is None else int(said[k]) for k in ("ack", "win", "tos")}
    return {"flags": said["flags"], "options": said["options"], "seq": (seq, end), **numbers}


def time_of(word: str, last_us: int) -> tuple[int, int]:
    """A line's time, and how much later it may be."""
    if word == ".":
        return last_us, TOLERANCE_US
    time, _, later = word.partition("~")
    us = round(float(time) * 1e6)
    tolerance = round(float(later) * 1e6) if later else TOLERANCE_US
    return (last_us + us if word.startswith("+") else us), tolerance


def play(run: Run, lines: list[tuple[int, str]]) -> None:
    """All lines, each at its time."""
    for number, line in lines:
        word, _, event = line.partition(" ")
        try:
            time_us, run.tolerance_us = time_of(word, run.said_us)
            if time_us < run.said_us:
                raise ScriptError("time goes back")
            run.said_us = time_us
            if time_us > run.now_us:
                run.run_to(time_us)
            run.nothing_left()
            run.event(event.strip())
        except ScriptError as error:
            raise ScriptError(f"line {number}: {line}\n{error}") from None
    run.said_us += 2 * TOLERANCE_US
    run.run_to(run.said_us)
    run.nothing_left()


def run_file(library, path: Path) -> None:
    """A script; ScriptError when it is not as it says."""
    text = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    lines = [(number, re.sub(r"\s+", " ", line)) for number, line in enumerate(text, 1) if line]
    options = [line.split()[1:] for _, line in lines if line.startswith("option ")]
    given = {name: int(value) for name, value in options}
    harness = Harness(library, address=LOCAL, **given)
    run = Run(harness)
    try:
        run.poll()
        play(run, [line for line in lines if not line[1].startswith("option ")])
    finally:
        missing = harness.close()
    if missing:
        raise ScriptError(f"{missing} buffers are missing")
