# SPDX-License-Identifier: MIT
"""Simulates machines by network namespaces. Each has its own name, by which mpirun finds it and starts ranks there as on
another machine. Needs root, ip (iproute2), unshare (util-linux) and, for a rate, tc (iproute2)."""
import ctypes
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

import launching

ADDRESS = "10.213.7."


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Network:
    """`count` namespaces on one bridge, in a namespace of its own so that this machine's network stays as it is. What
    each of them sends goes at `rate` at most: "1gbit". With `cores`, each runs on its one of them."""

    made = 0

    def __init__(self, count, rate=None, cores=()):
        Network.made += 1
        name = f"typenet{os.getpid()}-{Network.made}-"
        self.names = [f"{name}{i}" for i in range(count)]
        self.bridge = f"{name}b"
        self.bound = bool(cores)
        self.folder = tempfile.TemporaryDirectory()
        # What mpirun calls instead of ssh: AGENT NAME COMMAND. Every "machine" has a name and a /tmp of its own.
        self.agent = pathlib.Path(self.folder.name, "agent")
        taskset = f"set -- {' '.join(map(str, cores))}; eval core=\\${{$((number + 1))}}" if cores else ""
        self.agent.write_text(f"""#!/bin/sh
number=${{1##*-}}
shift
command=$*
{taskset}
mkdir -p {self.folder.name}/$number
exec ip netns exec {name}$number {"taskset -c $core" if cores else ""} unshare --uts sh -c \\
  'hostname machine-'$number'; export TMPDIR={self.folder.name}/'$number'; exec sh -c "$0"' "$command"
""")
        self.agent.chmod(0o755)
        try:
            run("ip", "netns", "add", self.bridge)
            run("ip", "-n", self.bridge, "link", "add", "bridge0", "type", "bridge")
            run("ip", "-n", self.bridge, "link", "set", "bridge0", "up")
            for i, name in enumerate(self.names):
                run("ip", "netns", "add", name)
                run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{i}", "netns",
                    self.bridge)
                run("ip", "-n", self.bridge, "link", "set", f"port{i}", "master", "bridge0", "up")
                run("ip", "-n", name, "address", "add", f"{ADDRESS}{i + 1}/24", "dev", "eth0")
                run("ip", "-n", name, "link", "set", "eth0", "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
                if rate:
                    run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst",
                        "128kb", "latency", "50ms")
        except OSError:
            self.remove()
            raise

    def cut(self, i):
        run("ip", "-n", self.bridge, "link", "set", f"port{i}", "down")

    def remove(self):
        for name in [*self.names, self.bridge]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
        self.folder.cleanup()

    def mpirun(self, ranks, *program):
        """Returns the command that starts one rank on each of the first `ranks` machines."""
        hosts = ",".join(f"machine-{i}:1" for i in range(ranks))
        flags = [*launching.FLAGS, *(["--bind-to", "none"] if self.bound else [])]
        return [str(self.agent), "machine-0",
                shlex.join([os.environ.get("TYPENET_MPIRUN") or shutil.which("mpirun") or "mpirun", *flags, "--host", hosts,
                            "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "tcp,self", "-n", str(ranks),
                            *map(str, program)])]


def adopt_orphans():
    """Processes whose parents have ended, as mpirun's daemons' do, become this one's children."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def wait_for_orphans():
    """Waits until these have ended, too. Returns the processor seconds of them and of their children."""
    seconds = 0
    while True:
        try:
            usage = os.wait3(0)[2]
        except ChildProcessError:
            return seconds
        seconds += usage.ru_utime + usage.ru_stime


def missing():
    """Returns why there can be no such network, or an empty text if there can."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return "network namespaces need root, ip (iproute2) and unshare (util-linux)"
    try:
        Network(1).remove()
    except OSError as e:
        return f"this system does not let us make network namespaces: {e}"
    return None
