"""A deployed Carillon in moto: tables, queues, a key and the environment of each function, at a set instant."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from carillon import bootstrap
from carillon.adapters.aws import new_client, new_session
from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.dynamodb.runs import DynamoRunStore
from carillon.adapters.kms import KmsSigningSecrets
from carillon.adapters.memory.edges import MemoryClock
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition
from carillon.domain.run import Run
from carillon.domain.schedule import OneOff, encode
from carillon_cli.dev.receiver import Receiver
from contract.samples import a_definition
from support.deployed import QUEUES, SETTINGS, Context, environment_of

EVENTS = Path(__file__).parents[3] / "events"
AT_MS = 1_748_779_200_000  # 2025-06-01T12:00:00Z, the instant of all recorded events
FIRST_JOB, SECOND_JOB = "job_01JWNJBZW0000G40R40M30E209", "job_01JWNM2XP0185GR38E1W8124GK"
TENANT = "acme"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
REGION = "us-east-1"
RECORDED = {
    "tick": "Carillon-local-QueuesTicks5C560A72-BAFFDEBD35026",
    "normal": "Carillon-local-QueuesNormal4864E9E5-7D46445A8476D",
    "normal-dead": "Carillon-local-QueuesNormalDeadLetters0C6A3D55-3B6F1E0A9C2D4",
}
"""Names of the queues that the recorded events came from."""


def event_of(name: str) -> dict[str, Any]:
    """A recorded event."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


@dataclass
class Deployment:
    """The functions with what they work on. `run` hands an event to a function, built anew as in a new process."""

    database: Database
    sqs: Any
    secrets: KmsSigningSecrets
    urls: dict[str, str]
    monkeypatch: pytest.MonkeyPatch
    clock: MemoryClock = field(default_factory=lambda: MemoryClock(AT_MS + 5_000))

    @property
    def jobs(self) -> DynamoJobStore:
        """The jobs."""
        return DynamoJobStore(self.database)

    @property
    def runs(self) -> DynamoRunStore:
        """The runs."""
        return DynamoRunStore(self.database)

    def run(self, name: str) -> Any:
        """Hand over the event of a file to the function that the file's name begins with."""
        function = next(function for function in SETTINGS if name.startswith(function))
        database, key_id = self.database, self.secrets._kms_key_id
        names = {"jobs": database.jobs, "control": database.control, "urls": self.urls, "key_id": key_id}
        for variable, value in environment_of(function, **names).items():
            self.monkeypatch.setenv(variable, value)
        handler = getattr(bootstrap, function)()
        return handler(event_of(name), Context())

    def add_job(self, job_id: str, receiver: Receiver | None = None, **changes: Any) -> Definition:
        """A one-off of the recorded events' instant, on its way."""
        schedule = encode(OneOff(AT_MS))
        definition = a_definition(id=job_id, schedule=schedule, scheduled_for=AT_MS, next_fire_time=AT_MS, **changes)
        if receiver is not None:
            target = replace(definition.spec.target, url=receiver.url(f"/{job_id}"))
            definition = replace(definition, spec=replace(definition.spec, target=target))
        self.jobs.create(definition)
        return definition

    def record(self, job_id: str) -> Run | None:
        """The run of the recorded events' instant."""
        return self.runs.get(RunKey.of(job_id, AT_MS))

    def bodies(self, queue: str) -> list[Any]:
        """What lies in a queue, without regard to delays."""
        answer = self.sqs.receive_message(QueueUrl=self.urls[queue], MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]

    def drop_hot_half(self, job_id: str) -> None:
        """Remove the hot half of a job, as TTL does."""
        key = {"pk": {"S": keys.job_pk(job_id)}, "sk": {"S": keys.JOB_SK}}
        self.database.client.delete_item(TableName=self.database.jobs, Key=key)

    def set_aside(self) -> list[str]:
        """The bodies of the messages in quarantine."""
        items = self.database.client.scan(TableName=self.database.control)["Items"]
        return [item["body"]["S"] for item in items if item["pk"]["S"].startswith("QUARANTINE#")]


@pytest.fixture
def deployment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """An empty deployment, whose tenant has a signing secret."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        session = new_session()
        session.set_config_variable("region", REGION)
        dynamodb, sqs, kms = (new_client(session, service) for service in ("dynamodb", "sqs", "kms"))
        database = Database(dynamodb, "jobs", "control")
        dynamodb.create_table(**keys.jobs_table("jobs"))
        dynamodb.create_table(**keys.control_table("control"))
        urls = {name: sqs.create_queue(QueueName=RECORDED.get(name, name))["QueueUrl"] for name in QUEUES}
        secrets = KmsSigningSecrets(database, kms, kms.create_key()["KeyMetadata"]["KeyId"])
        secrets.add(TENANT, "sec_1", SECRET, AT_MS - 1)

        made = Deployment(database, sqs, secrets, urls, monkeypatch)
        monkeypatch.setattr(bootstrap, "SystemClock", lambda: made.clock)
        yield made


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A target of callbacks."""
    with Receiver(SECRET) as listening:
        yield listening
