"""`make spark`: a standalone Spark cluster on loopback, a master and two workers, against the second service and the simulator.

Each check prints its name. It takes some minutes and is not part of the suite, unlike tests/test_spark.py.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from needs import library
from service import Service

import sideline
from sideline.spark import arrow_schema

pa = library("pyarrow")
pyspark = library("pyspark")
DataFrame = library("pyspark.sql").DataFrame
SparkSession = library("pyspark.sql").SparkSession
F = library("pyspark.sql.functions")

NOW = "2027-03-01T12:00:00Z"
RANGE = {"start": "2027-01-01", "end": "2027-03-02"}
HOME = Path(pyspark.__file__).parent
PATIENCE = 300.0
"""Seconds for anything that Spark does, on a busy machine."""

TABLES = ("player_stats", "stat_events", "possessions", "possession_events", "shots")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], Any], description: str) -> Any:
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(description)
        time.sleep(0.05)
    return value


class Cluster:
    """A master and its workers, each a process of ours."""

    def __init__(self, folder: Path, worker_environ: dict[str, str]) -> None:
        self.folder, self.worker_environ = folder, worker_environ
        self.port, self.page = free_port(), free_port()
        self.address = f"spark://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        master = ("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self.page))
        self.start("org.apache.spark.deploy.master.Master", *master, environ={})
        until(self.read_page, "the master answers")
        self.workers = [self.start_worker() for _ in range(2)]

    def start(self, name: str, *arguments: str, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SIDELINE_")}
        settings = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(self.folder / "work"), "SPARK_HOME": str(HOME)}
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), name, *arguments], stdout=log, stderr=log, env={**clean, **settings, **environ}, start_new_session=True
            )
        self.processes.append(process)
        return process

    def start_worker(self) -> subprocess.Popen[bytes]:
        arguments = ("--host", "127.0.0.1", "--cores", "1", "--memory", "600m", "--webui-port", str(free_port()), self.address)
        return self.start("org.apache.spark.deploy.worker.Worker", *arguments, environ=self.worker_environ)

    def read_page(self) -> str | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=5) as response:
                return str(response.read().decode())
        except OSError:
            return None

    def kill_an_executor(self) -> None:
        """The first worker's, by its id."""
        until(lambda: children(self.workers[0].pid), "the first worker has an executor")
        for pid in children(self.workers[0].pid):
            os.kill(pid, signal.SIGKILL)

    def restart_a_worker(self) -> None:
        """The second, with all that it began."""
        os.killpg(self.workers[1].pid, signal.SIGKILL)
        self.workers[1].wait()
        self.workers[1] = self.start_worker()

    def close(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    return []


@contextlib.contextmanager
def session(cluster: Cluster, events: Path) -> Iterator[SparkSession]:
    config = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "600m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.ui.port": str(free_port()),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.network.timeout": "600s",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "240s",
    }
    builder = SparkSession.builder.master(cluster.address).appName("sideline")
    for name, value in config.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


class RequestTimes:
    """When each request arrived."""

    def __init__(self, service: Service) -> None:
        self.at: list[float] = []
        add = service.requests.add

        def add_with_time(request: Any) -> None:
            self.at.append(time.monotonic())
            add(request)

        service.requests.add = add_with_time  # type: ignore[method-assign]

    def most_within(self, seconds: float) -> int:
        return max(sum(first <= other < first + seconds for other in self.at[place:]) for place, first in enumerate(self.at))


def assert_equal(frame: DataFrame, eager: sideline.Table) -> None:
    """Row for row, in the order of the plan."""
    target = arrow_schema(eager.name, None).remove_metadata()
    target = pa.schema([field.remove_metadata() for field in target])
    actual, expected = frame.toArrow().cast(target), eager.to_arrow().cast(target)
    assert actual.num_rows == expected.num_rows > 0, (actual.num_rows, expected.num_rows)
    assert actual.equals(expected), f"{eager.name} differs"


def whole(plan: sideline.Plan, client: sideline.Client) -> sideline.Table:
    [part] = plan.split(1)
    return part.read(client)


def load(spark: SparkSession, table: str, **options: Any) -> DataFrame:
    return spark.read.format("sideline").options(table=table, **{"parts": "4", **RANGE, **options}).load()


def failure(frame: DataFrame) -> str:
    try:
        frame.count()
    except Exception as error:  # noqa: BLE001 - Spark's errors share no class
        return str(error)
    raise AssertionError("it did not fail")


def parts_are_the_whole(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    for table in TABLES:
        plan = client.plan(table, **RANGE)
        eager = whole(plan, client)
        assert_equal(sideline.spark.read(spark, plan, parts=5), eager)
        assert_equal(load(spark, table), eager)
    sessions = [unit.session_id for unit in client.plan("locations", **RANGE)._units]
    plan = client.plan("locations", **RANGE).only(session_ids=sessions[:20])
    assert len({unit.session_id for unit in plan._units}) == 20
    assert_equal(sideline.spark.read(spark, plan), whole(plan, client))


def a_frame_is_right_however_it_is_used(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    frame = load(spark, "shots")
    count = len(service.truth()["shots"])
    session_id = service.season.sessions()[0][1].id
    of_session = len(service.truth(session_ids=[session_id])["shots"])
    part = frame.filter(F.col("session_id") == session_id)
    assert (part.count(), frame.count(), part.union(frame).count(), frame.union(part).count()) == (of_session, count, count + of_session, count + of_session)
    rest = frame.filter(F.col("session_id") != session_id)
    assert part.union(rest).count() == frame.filter("points >= 0").count() == count
    assert frame.join(frame.select("session_id", "player_id").distinct(), ["session_id", "player_id"]).count() == count


def an_executor_is_killed(spark: SparkSession, service: Service, client: sideline.Client, cluster: Cluster) -> None:
    plan = client.plan("stat_events", **RANGE)
    eager = whole(plan, client)
    slow = service.faults.add("stats_details", delay=1.0)
    in_flight = -(-len(plan) // 8) + 1

    def kill() -> None:
        until(lambda: len(service.requests) >= in_flight, "the job asks")
        cluster.kill_an_executor()

    # If the executor was between two tasks, no request is repeated.
    for _ in range(5):
        service.requests.clear()
        killer = threading.Thread(target=kill)
        killer.start()
        assert_equal(sideline.spark.read(spark, plan, parts=8), eager)
        killer.join()
        if len(service.requests) > len(plan):
            break
    else:
        raise AssertionError("no kill lost anything")
    service.faults.remove(slow)
    cluster.restart_a_worker()
    assert_equal(sideline.spark.read(spark, plan, parts=8), eager)


def the_rate_is_held_together(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    with sideline.Client(requests_per_second=40) as slow_client:
        plan = slow_client.plan("shots", **RANGE)
    eager = whole(plan, client)
    until(lambda: spark.sparkContext.defaultParallelism == 2, "both workers are there")
    add = service.requests.add
    clock = RequestTimes(service)
    try:
        assert_equal(sideline.spark.read(spark, plan, parts=6), eager)
    finally:
        service.requests.add = add  # type: ignore[method-assign]
    # Each process may begin with one at once.
    peak = clock.most_within(1.0)
    print(f"    {len(clock.at)} requests in {clock.at[-1] - clock.at[0]:.1f} s, at most {peak} within a second")
    assert peak <= 44 + 2, peak


def trouble_is_overcome(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    plan = client.plan("player_stats", **RANGE)
    eager = whole(plan, client)
    counter = iter(range(10**9))
    busy = service.faults.add("stats", when=lambda _: next(counter) % 5 == 0, status=503)
    occasional = service.faults.add("stats", when=lambda _: next(counter) % 7 == 0, status=429, headers={"Retry-After": "0"})
    assert_equal(sideline.spark.read(spark, plan, parts=4), eager)
    assert busy.count and occasional.count
    service.faults.clear()


def a_hole_fails_a_read_and_is_a_row_of_bodies(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    plan = client.plan("player_stats", **RANGE)
    lost_session = plan._units[3].session_id
    service.faults.add("stats", path=str(lost_session), status=404, body={"status": 404, "message": "Invalid id"})
    for frame in (sideline.spark.read(spark, plan), load(spark, "player_stats")):
        assert f"session {lost_session}" in (message := failure(frame)) and "IncompleteBatch" in message, message
    bodies = sideline.spark.fetch_bodies(spark, plan).persist()
    assert {row["status"]: row["count"] for row in bodies.groupBy("status").count().collect()} == {"fetched": len(plan) - 1, "missing": 1}
    service.requests.clear()
    rows = sideline.spark.decode(bodies, "player_stats")
    assert rows.count() == len([row for row in service.truth()["player_stats"] if row["session_id"] != lost_session])
    assert [row["session_id"] for row in bodies.filter("status = 'missing'").collect()] == [lost_session]
    assert len(service.requests) == 0
    bodies.unpersist()
    service.faults.clear()


def the_simulator_is_read_too(spark: SparkSession, simulator: sideline.Simulator) -> None:
    with simulator.client() as client:
        plan = client.plan("possession_events", start="2026-11-01", end="2026-12-01")
        assert_equal(sideline.spark.read(spark, plan), whole(plan, client))


def no_secret_is_shown(spark: SparkSession, plan: sideline.Plan, secrets: list[str], events: Path, folder: Path) -> None:
    frame = load(spark, "shots")
    frame.createOrReplaceTempView("shots")
    spark.sql("select count(*) from shots").collect()
    texts = {"plan": frame._jdf.queryExecution().toString(), "json": plan.to_json(), "pickle": repr(pickle.dumps(plan.split(2)))}
    page = spark.sparkContext.uiWebUrl
    application = f"{page}/api/v1/applications/{spark.sparkContext.applicationId}"
    for name in (
        f"{application}/environment",
        f"{application}/sql?details=true&length=1000",
        f"{application}/jobs",
        f"{application}/stages",
        f"{page}/environment/",
        f"{page}/SQL/",
    ):
        with urllib.request.urlopen(name, timeout=60) as response:
            texts[name] = response.read().decode()
    for path in [*events.rglob("*"), *folder.glob("*.log"), *(folder / "work").rglob("std*")]:
        if path.is_file():
            texts[str(path)] = path.read_text(encoding="utf-8", errors="replace")
    leaking_files = [name for name, text in texts.items() if any(secret in text for secret in secrets)]
    assert not leaking_files, leaking_files
    assert any("events" in name for name in texts)
    for option in ("secret", "api_key", "SIDELINE_SECRET", "token"):
        assert "SIDELINE_SECRET" in failure_of_load(spark, option)


def failure_of_load(spark: SparkSession, option: str) -> str:
    try:
        load(spark, "shots", **{option: "x"})
    except Exception as error:  # noqa: BLE001 - Spark's errors share no class
        return str(error)
    raise AssertionError(f"the option {option} was taken")


def a_wrong_secret_sends_one_request_from_each_process(spark: SparkSession, service: Service, client: sideline.Client) -> None:
    """A task whose Python fails ends its process, so each attempt has one of its own."""
    plan = client.plan("shots", **RANGE)
    reads = {"a direct table": lambda: sideline.spark.read(spark, plan, parts=6).count(), "bodies": lambda: sideline.spark.fetch_bodies(spark, plan).count()}
    for name, read in reads.items():
        service.requests.clear()
        spark.sparkContext.setJobGroup(name, name)
        message = ""
        try:
            read()
        except Exception as error:  # noqa: BLE001 - Spark's errors share no class
            message = str(error)
        assert "AuthenticationError" in message, message[:500]
        tracker = spark.sparkContext.statusTracker()
        jobs = filter(None, (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)))
        stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
        attempts = sum(stage.numFailedTasks + stage.numActiveTasks for stage in stages)
        refusals = [request for request in service.requests.all() if request.status in (401, 403)]
        print(f"    {name}: {len(refusals)} refused requests of {attempts} attempts", flush=True)
        assert 1 <= len(refusals) <= attempts


def main() -> None:
    with tempfile.TemporaryDirectory() as place, Service(seed=3, now=NOW, games=24, days=50) as service, sideline.Simulator(seed=7, now=NOW) as simulator:
        folder = Path(place)
        events = folder / "events"
        events.mkdir()
        os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        os.environ |= service.environ
        # A worker's environment has the secret, and cannot redirect a part.
        cluster = Cluster(folder, {"SIDELINE_SECRET": service.secret, "SIDELINE_BASE_URL": "http://127.0.0.1:9", "SIDELINE_USERNAME": "nobody"})
        began = time.monotonic()

        def check(step: Callable[..., None], *arguments: Any) -> None:
            service.requests.clear()
            start = time.monotonic()
            step(*arguments)
            print(f"ok  {step.__name__.replace('_', ' ')} ({time.monotonic() - start:.0f} s)", flush=True)

        try:
            with session(cluster, events) as spark, sideline.Client() as client:
                print(f"Spark {spark.version}, {spark.sparkContext.defaultParallelism} tasks at once ({time.monotonic() - began:.0f} s)", flush=True)
                check(an_executor_is_killed, spark, service, client, cluster)
                for step in (
                    parts_are_the_whole,
                    a_frame_is_right_however_it_is_used,
                    trouble_is_overcome,
                    a_hole_fails_a_read_and_is_a_row_of_bodies,
                    the_rate_is_held_together,
                ):
                    check(step, spark, service, client)
                secrets = [service.secret, service.api_key]
                check(no_secret_is_shown, spark, client.plan("shots", **RANGE), secrets, events, folder)
        finally:
            cluster.close()
        folder = folder / "wrong"
        folder.mkdir()
        cluster = Cluster(folder, {"SIDELINE_SECRET": "not the secret"})
        try:
            with session(cluster, events) as spark, sideline.Client() as client:
                check(a_wrong_secret_sends_one_request_from_each_process, spark, service, client)
        finally:
            cluster.close()
        # Its workers have the simulator's secret.
        folder = Path(place) / "simulator"
        folder.mkdir()
        os.environ |= simulator.environ
        cluster = Cluster(folder, {"SIDELINE_SECRET": simulator.secret})
        try:
            with session(cluster, events) as spark:
                check(the_simulator_is_read_too, spark, simulator)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
