"""One stage of Carillon: composes the parts and names what tools need to find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Stack, Tags

from infra.parts.alarms import Alarms
from infra.parts.api import Api
from infra.parts.functions import Functions, Ground
from infra.parts.queues import Queues
from infra.parts.storage import Storage
from infra.parts.ticks import Ticks

if TYPE_CHECKING:
    from constructs import Construct

    from infra.parts.sources import Sources
    from infra.stages import Stage


class CarillonStack(Stack):
    """Everything of one stage."""

    def __init__(self, scope: Construct, stage: Stage, sources: Sources) -> None:
        super().__init__(
            scope,
            f"Carillon-{stage.name}",
            description=f"Carillon, a job scheduler ({stage.name})",
            termination_protection=stage.protect_data,
        )
        Tags.of(self).add("application", "carillon")
        Tags.of(self).add("stage", stage.name)
        storage = Storage(self, "Storage", stage)
        queues = Queues(self, "Queues", stage)
        api = Api(self, "Api", stage)
        functions = Functions(self, stage, sources, Ground(storage, queues, api.host))
        api.send_all_to(functions.api)
        Ticks(self, "Ticks", functions.ticker)
        Alarms(self, "Alarms", stage, queues, functions)
        self._name(_outputs(storage, queues, functions, api))

    def _name(self, outputs: dict[str, str]) -> None:
        for key, value in outputs.items():
            CfnOutput(self, key, value=value)


def _outputs(storage: Storage, queues: Queues, functions: Functions, api: Api) -> dict[str, str]:
    """What the CLI, tests and operators look up by these names."""
    return {
        "ApiUrl": api.url,
        "JobsTable": storage.jobs.table_name,
        "ControlTable": storage.control.table_name,
        "PayloadsBucket": storage.payloads.bucket_name,
        "SecretsKeyId": storage.secrets_key.key_id,
        "TickQueueUrl": queues.ticks.queue_url,
        **{f"{work.name.capitalize()}QueueUrl": work.queue.queue_url for work in queues.work},
        **{f"{function.node.id}Function": function.function.function_name for function in functions.all},
    }
