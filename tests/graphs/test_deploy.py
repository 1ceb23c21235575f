"""`deploy/`: what its files promise, and the same services as processes of this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import servers
import yaml
from services import Deployment, Service, chroma, program

from acc import MemoryController, ThreadKey

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
DEPLOY = ROOT / "deploy"
PINNED = re.compile(r"[\w./-]+:\d+\.\d+[\w.-]*")
LASTING = {"chroma", "postgres", "worker-1", "worker-2"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], Any]:
    """The objects of the manifest, by kind and name."""
    found = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
    named = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(named) == len(found)
    return named


def pods(objects: dict[tuple[str, str], Any]) -> Iterator[tuple[str, Any]]:
    """Name and specification of each pod."""
    for (_, name), one in objects.items():
        if "template" in one.get("spec", {}):
            yield name, one["spec"]["template"]["spec"]


class TestCompose:
    def test_images_are_pinned(self, compose: dict[str, Any]) -> None:
        for service in compose["services"].values():
            assert PINNED.fullmatch(service["image"])

    def test_what_lasts_has_a_health_check_and_is_started_again(
        self, compose: dict[str, Any]
    ) -> None:
        for name in LASTING:
            service = compose["services"][name]
            assert service["healthcheck"]["test"][0] == "CMD"
            assert service["restart"] == "unless-stopped"

    def test_what_must_be_durable_is_in_a_named_volume(self, compose: dict[str, Any]) -> None:
        mounts = {n: s.get("volumes", []) for n, s in compose["services"].items()}
        assert mounts["postgres"] == ["postgres:/var/lib/postgresql/data"]
        assert mounts["chroma"] == ["chroma:/chroma"]
        assert not any(mounts[name] for name in ("worker-1", "worker-2"))
        used = {mount.partition(":")[0] for each in mounts.values() for mount in each}
        assert used == set(compose["volumes"])

    def test_no_secret_stands_in_the_file(self, compose: dict[str, Any]) -> None:
        given = [s.get("environment", {}) for s in compose["services"].values()]
        secrets = [v for each in given for k, v in each.items() if "PASSWORD" in k]
        assert len(secrets) == 4
        assert all(re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?.*\}", value) for value in secrets)
        assert not re.search(r"://[^/@\s]*:[^/@\s]*@", (DEPLOY / "compose.yaml").read_text("utf-8"))

    def test_workers_take_the_settings_that_the_reference_graph_reads(
        self, compose: dict[str, Any]
    ) -> None:
        read = (ROOT / "graphs/acc_graphs/deployment.py").read_text("utf-8")
        for name in ("worker-1", "worker-2"):
            settings = compose["services"][name]["environment"]
            assert {*settings} - {"PGPASSWORD"} == set(re.findall(r"^    (ACC_\w+) ", read, re.M))
            assert settings["ACC_MEMORY"] == settings["ACC_CHECKPOINTS"]

    def test_the_server_runs_as_the_tests_run_it(
        self, compose: dict[str, Any], tmp_path: Path
    ) -> None:
        ours = chroma(tmp_path / "chroma").command
        here = {str(tmp_path / "chroma"): "/chroma", "127.0.0.1": "0.0.0.0", ours[-1]: "8000"}
        ours = [Path(ours[0]).name, *(here.get(word, word) for word in ours[1:])]
        assert compose["services"]["chroma"]["command"] == ours


class TestKubernetes:
    def test_containers_are_pinned_bounded_and_unprivileged(
        self, objects: dict[tuple[str, str], Any]
    ) -> None:
        assert {name for name, _ in pods(objects)} == {"chroma", "postgres", "prepare", "worker"}
        for _, pod in pods(objects):
            assert pod["securityContext"]["runAsNonRoot"]
            assert pod["enableServiceLinks"] is False
            for container in pod["containers"]:
                assert PINNED.fullmatch(container["image"])
                assert container["resources"]["limits"]["memory"]

    def test_what_lasts_is_probed(self, objects: dict[tuple[str, str], Any]) -> None:
        for name, pod in pods(objects):
            for container in pod["containers"] if name != "prepare" else []:
                probes = {key for key in container if key.endswith("Probe")}
                assert probes == {"startupProbe", "readinessProbe", "livenessProbe"}

    def test_what_must_be_durable_is_claimed(self, objects: dict[tuple[str, str], Any]) -> None:
        for name in ("chroma", "postgres"):
            claim = objects["StatefulSet", name]["spec"]["volumeClaimTemplates"][0]
            assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
        assert "volumes" not in dict(pods(objects))["worker"]

    def test_passwords_come_from_the_secret(self, objects: dict[tuple[str, str], Any]) -> None:
        found = [
            variable for _, pod in pods(objects) for container in pod["containers"]
            for variable in container.get("env", []) if "PASSWORD" in variable["name"]
        ]  # fmt: skip
        assert len(found) == 3
        assert all(set(v) == {"name", "valueFrom"} for v in found)
        assert not [kind for kind, _ in objects if kind == "Secret"]

    def test_services_reach_the_pods_that_the_settings_name(
        self, objects: dict[tuple[str, str], Any], compose: dict[str, Any]
    ) -> None:
        labels = {
            name: one["spec"]["template"]["metadata"]["labels"]
            for (_, name), one in objects.items() if "template" in one.get("spec", {})
        }  # fmt: skip
        for (kind, name), one in objects.items():
            if kind == "Service":
                assert one["spec"]["selector"] == labels[name]
        settings = objects["ConfigMap", "acc"]["data"]
        given = compose["services"]["worker-1"]["environment"]
        same = ("ACC_MEMORY", "ACC_CHROMA", "ACC_CHECKPOINTS")
        assert [settings[name] for name in same] == [given[name] for name in same]
        assert {"PGPASSWORD", *settings} == {*given}


def test_the_image_is_made_of_what_there_is() -> None:
    lines = (DEPLOY / "Dockerfile").read_text("utf-8")
    assert re.search(r"^FROM python:3\.1[123]\.\d+-[\w-]+$", lines, re.M)
    assert re.search(r"^USER (?!root)", lines, re.M)
    kept = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.M)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {path.partition("/")[0] for path in packages} <= set(kept)
    assert all((ROOT / name).exists() for name in kept)
    assert "postgres" in project["project"]["optional-dependencies"]


SAID = ("Never restart a pipeline during clinic hours.", "What has changed?", "Get it moving.")


def told(worker: Service, place: str, number: int) -> dict[str, Any]:
    """A worker's answer to one message."""
    body = json.dumps({"id": f"m{number}", "text": SAID[number]}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{worker.port}/{place}", body)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def acc(deployment: Deployment, command: str) -> subprocess.CompletedProcess[str]:
    """A command of ACC on the deployment's journal."""
    return subprocess.run(
        [sys.executable, "-m", "acc", command, "--memory", deployment.postgresql.address],
        env={**os.environ, **deployment.env}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def dumping(deployment: Deployment, to: Path) -> subprocess.Popen[bytes]:
    """The documented backup of journal and checkpoints."""
    with to.open("wb") as out:
        return subprocess.Popen(
            [program("pg_dump"), "--format=custom", "--dbname", deployment.postgresql.address],
            env={**os.environ, **deployment.env}, stdout=out,
        )  # fmt: skip


def restored(deployment: Deployment, dump: Path) -> None:
    """The documented restoration."""
    command = [program("pg_restore"), "--clean", "--if-exists", "--no-owner", "--exit-on-error"]
    command += ["--dbname", deployment.postgresql.address, str(dump)]
    subprocess.run(command, env={**os.environ, **deployment.env}, check=True)


PLACES = [f"{tenant}/ann/t{n}" for tenant in ("north", "south") for n in range(2)]


@pytest.mark.slow
def test_a_backup_restored_in_another_place_goes_on() -> None:
    servers.needs_postgresql()
    with ExitStack() as stack:
        first, second = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deploy-"))) for _ in "12"
        )
        dump = second / "dump"
        with Deployment(first, 2).running() as deployment:
            for number in (0, 1):
                before = {p: told(deployment.workers[number], p, number)["turn"] for p in PLACES}
            for worker in deployment.workers:  # the databases go on
                worker.stop()
            assert dumping(deployment, dump).wait(120) == 0
            live = acc(deployment, "verify")
            assert live.returncode == 0, live.stderr
        with Deployment(second, 2).running(restore=lambda made: restored(made, dump)) as deployment:
            for command in ("verify", "reindex", "doctor"):
                done = acc(deployment, command)
                assert done.returncode == 0, done.stdout + done.stderr
            for place in PLACES:
                ended = told(deployment.workers[0], place, 2)
                assert (ended["turn"], ended["branch"]) == (before[place] + 1, "main")
                assert ended["answer"].startswith("Not yet, by your own rule")
                assert told(deployment.workers[1], place, 2) == ended


@pytest.mark.slow
def test_a_backup_while_workers_serve_is_what_a_kill_would_have_left() -> None:
    """Without stopping anything: the copy verifies, and holds all that was answered before it."""
    servers.needs_postgresql()
    with ExitStack() as stack:
        first, second = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deploy-"))) for _ in "12"
        )
        dump = second / "dump"
        with Deployment(first, 2).running() as deployment:
            states = {place: told(deployment.workers[0], place, 0) for place in PLACES}
            backup = dumping(deployment, dump)
            for number in (1, 2):
                for place in PLACES:
                    told(deployment.workers[1], place, number)
            assert backup.wait(120) == 0
        with Deployment(second, 0).running(restore=lambda made: restored(made, dump)) as deployment:
            assert acc(deployment, "verify").returncode == 0
            secret = f"//acc:{deployment.postgresql.password}@"
            address = deployment.postgresql.address.replace("//acc@", secret)
            with MemoryController.open(address, store="none") as memory:
                for place, state in states.items():
                    tenant, user, _ = place.split("/")
                    kept = memory.state_at(ThreadKey(place, tenant, user), 1)
                    assert kept is not None
                    assert kept.hash == state["hash"]
