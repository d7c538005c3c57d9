# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packet scripts over the shared library, and how the library is loaded: by Python, into a
program under a sanitizer, and with the sanitizer's runtime in front of Python."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import packets
import plumb_harness
import pytest
from plumb_harness import NEVER, Harness, sockaddr
from script import REMOTE, ScriptError, run_file

from lab import build

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "scripts").glob("*.script"))


@pytest.fixture(scope="session")
def library_path() -> Path:
    """The library, built as users do: no sanitizer in it."""
    return build.preset("harness") / "ports/libplumb_harness.so"


@pytest.fixture(scope="session")
def library(library_path):
    """The same, loaded."""
    return plumb_harness.load(library_path)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(library, path):
    run_file(library, path)


WRONG = {
    "another number": ("> SA seq 0 ack 1", "> SA seq 1 ack 1", "wrong: seq"),
    "another acknowledgement": ("> SA seq 0 ack 1", "> SA seq 0 ack 2", "wrong: ack"),
    "other flags": ("> SA seq 0", "> S seq 0", "wrong: flags"),
    "other options": ("<mss 1460>\n", "<mss 1459>\n", "wrong: options"),
    "no options": ("ack 1 <mss 1460>\n", "ack 1\n", "wrong: options"),
    "another window": ("ack 1 <mss 1460>\n", "ack 1 win 7 <mss 1460>\n", "wrong: win"),
    "another time": ("+0.04 > A", "+0.03 > A", "nothing was sent"),
    "not said": (".     > SA seq 0 ack 1 <mss 1460>\n", "", "not said"),
    "another result": ("= EAGAIN", "= 3", "the result is EAGAIN"),
    "an error not said": ("recv c 100 = EAGAIN", "recv c 100", "the result is EAGAIN"),
    "rubbish": ("> SA", "> XY", "no segment is written like this"),
    "time goes back": ("+0.05 < A seq 1 ack 1 ", "0 < A seq 1 ack 1 ", "time goes back"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_script_that_is_wrong_fails(library, tmp_path, name):
    right, wrong, said = WRONG[name]
    text = (HERE / "scripts/open_passive.script").read_text()
    assert right in text
    (tmp_path / "wrong.script").write_text(text.replace(right, wrong, 1))
    with pytest.raises(ScriptError, match=said):
        run_file(library, tmp_path / "wrong.script")


def test_options_are_written_as_they_are_read():
    for text in ("mss 1460, nop, wscale 5", "nop, nop, TS 7 4294967295", "sackOK, nop, nop",
                 "nop, nop, sack 10:20 30:40", "raw fe04abcd"):  # fmt: skip
        made = packets.build_options(text, 5)
        assert len(made) % 4 == 0
        assert packets.describe_options(made, 5).removeprefix("nop, ") in text


def first_syn(library, seed: int) -> bytes:
    """What a connect sends."""
    host = Harness(library, seed=seed)
    fd = host.call("socket", 2, 1, 0)
    host.poll(0)
    assert host.call("connect", fd, sockaddr(REMOTE, 80), 16) == "EINPROGRESS"
    packet = host.take()
    assert host.close() == 0
    return packet


def test_the_seed_decides(library):
    assert first_syn(library, 1) == first_syn(library, 1)
    assert first_syn(library, 1) != first_syn(library, 2)


def carry(one: Harness, other: Harness) -> bool:
    """All that one has sent goes to the other."""
    count = 0
    while packet := one.take():
        assert other.put(packet) == 0
        count += 1
    return count > 0


def settle(hosts: list[Harness], now_us: int) -> int:
    """Carries until nobody sends; when to go on."""
    while True:
        deadline = min(host.poll(now_us) for host in hosts)
        if not any([carry(hosts[0], hosts[1]), carry(hosts[1], hosts[0])]):
            return deadline


@pytest.mark.parametrize("level", [0, 1], ids=["ip", "ethernet"])
def test_two_hosts_talk(library, level):
    macs = [(plumb_harness.c_uint8 * 6)(2, 0, 0, 0, 0, i + 1) for i in range(2)]
    a, b = (
        Harness(library, seed=i, level=level, address=f"10.0.0.{i + 1}", ethernet=macs[i])
        for i in range(2)
    )
    listener = b.call("socket", 2, 1, 0)
    assert b.call("bind", listener, sockaddr("0.0.0.0", 80), 16) == 0
    assert b.call("listen", listener, 1) == 0
    settle([a, b], 0)
    client = a.call("socket", 2, 1, 0)
    assert a.call("connect", client, sockaddr("10.0.0.2", 80), 16) == "EINPROGRESS"
    settle([a, b], 2000)
    settle([a, b], 4000)
    server = b.call("accept", listener, None, None)
    assert isinstance(server, int)
    data, got, now_us = bytes(range(256)) * 1000, b"", 10_000
    rest = data
    while len(got) < len(data):
        sent = a.send(client, rest)
        rest = rest[sent:] if isinstance(sent, int) else rest
        deadline = settle([a, b], now_us)
        part = b.recv(server, 65536)
        got += part if isinstance(part, bytes) else b""
        settle([a, b], now_us)
        now_us = max(now_us + 1000, min(deadline, now_us + 100_000))
        assert now_us < 60_000_000
    assert got == data
    assert a.close() == 0
    assert b.close() == 0


def test_what_is_refused(library):
    for wrong in ({"mtu": 67}, {"mtu": 9001}, {"prefix": 33}, {"level": 2},
                  {"address": "127.0.0.1"}):  # fmt: skip
        with pytest.raises(ValueError, match="refused"):
            Harness(library, **wrong)
    host = Harness(library, mtu=1000)
    assert host.put(b"\x45" + bytes(1000)) == -errno.EMSGSIZE
    assert host.put(b"\x55" + bytes(30)) == -errno.EINVAL
    assert host.put(b"\x45") == -errno.EINVAL
    assert host.put(b"\x45" + bytes(30)) == 0  # the stack's to judge
    assert library.plumb_harness_ethernet_in(host.handle, b"", 0) == -errno.EOPNOTSUPP
    assert library.plumb_harness_ethernet_out(host.handle, None, 0) == -errno.EOPNOTSUPP
    assert host.poll(0) != 0
    assert host.close() == 0
    frames = Harness(library, level=1)
    assert library.plumb_harness_ip_in(frames.handle, b"", 0) == -errno.EOPNOTSUPP
    assert frames.take()[12:14] == b"\x08\x06"  # it announces its address
    assert frames.close() == 0


def test_a_packet_that_has_no_room_stays(library):
    host = Harness(library)
    host.poll(0)
    fd = host.call("socket", 2, 1, 0)
    host.call("connect", fd, sockaddr(REMOTE, 80), 16)
    room = plumb_harness.ctypes.create_string_buffer(100)
    assert library.plumb_harness_ip_out(host.handle, room, 20) == -errno.EMSGSIZE
    assert library.plumb_harness_ip_out(host.handle, room, 100) > 20
    assert library.plumb_harness_ip_out(host.handle, room, 100) == 0
    assert host.poll(0) not in (0, NEVER)
    assert host.close() == 0


MAIN = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "plumb_harness.h"

#define SYMBOL(name) __typeof__(name) *const p_##name = (__typeof__(name) *)dlsym(library, #name)

/* Were this taken for the library's own, nothing would work. */
int plumb_random(struct plumb *stack) __attribute__((visibility("default")));
int plumb_random(struct plumb *stack) { (void)stack; abort(); }

int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    SYMBOL(plumb_harness_create);
    SYMBOL(plumb_harness_destroy);
    SYMBOL(plumb_harness_poll);
    SYMBOL(plumb_harness_ip_out);
    SYMBOL(plumb_harness_sockets);
    SYMBOL(plumb_socket);
    SYMBOL(plumb_connect);
    struct plumb_harness_options options = {.size = sizeof options, .seed = {1, 2}};
    struct plumb_harness *host = p_plumb_harness_create(&options);
    struct plumb_sockaddr_in there = {PLUMB_AF_INET, 80 << 8, {0x07000a0a}, {0}};
    unsigned char *packet = malloc(200);
    p_plumb_harness_poll(host, 0);
    int fd = p_plumb_socket(p_plumb_harness_sockets(host), PLUMB_AF_INET, PLUMB_SOCK_STREAM, 0);
    p_plumb_connect(p_plumb_harness_sockets(host), fd, &there, sizeof there);
    int length = p_plumb_harness_ip_out(host, packet, 200);
    free(packet);
    printf("%d %d\n", length > 40, p_plumb_harness_destroy(host));
    return argc > 2 ? packet[0] : 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_under_a_sanitizer_loads_it(library_path, tmp_path, compiler):
    root, built = HERE.parent.parent, library_path.parent.parent
    folders = [f"-I{root}/ports/harness", f"-I{root}/include", f"-I{built}/config"]
    (tmp_path / "main.c").write_text(MAIN)
    command = [compiler, "-g", "-rdynamic", "-fsanitize=address,undefined", *folders]
    subprocess.run([*command, "main.c", "-o", "main", "-ldl"], cwd=tmp_path, check=True)
    run = [tmp_path / "main", library_path]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 0\n", "")
    wrong = subprocess.run([run[0], "wrong", run[1]], capture_output=True, text=True, timeout=60)
    assert "heap-use-after-free" in wrong.stderr  # so the sanitizer is there


def test_python_with_a_sanitizer_in_front_loads_it(library_path):
    where = ["gcc", "-print-file-name=libasan.so"]
    runtime = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    program = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "import plumb_harness, script\n"
        "library = plumb_harness.load(Path(sys.argv[1]))\n"
        "for path in sorted(Path(sys.argv[2], 'scripts').glob('*.script')):\n"
        "    script.run_file(library, path)\n"
        "print('all', open('/proc/self/maps').read().count('libasan') > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, library_path, HERE],
        env={**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "all True\n"), done.stderr
