"""Reads a synthesised CloudFormation template the way that the tests ask about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = {
    "Api": "api",
    "Ticker": "ticker",
    "Dispatcher": "dispatcher",
    "Worker": "worker",
    "LongWorker": "long_worker",
    "DeadLetters": "dead_letters",
    "Retention": "retention",
    "Operations": "operations",
    "Statistics": "statistics",
    "Deployments": "deployments",
}
"""The functions by their name in the template, and the name that each gives itself."""

AT_WORK = tuple(name for name in SERVICES if name != "Deployments")
"""The functions that jobs depend on; the other one is asked by deployments."""

WORK_QUEUES = ("High", "Normal", "Low", "Long")
INVOCATIONS_OF_A_POLLER = 10


@dataclass(frozen=True)
class Template:
    """One stage's template. Resources are named by their path, such as `Queues/High`."""

    body: dict[str, Any]
    folder: Path
    """The cloud assembly that it lies in, with its assets."""
    protected: bool
    """Whether the stack itself refuses deletion."""

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of all resources of a type."""
        return {
            self.path(name): resource.get("Properties", {})
            for name, resource in self.body["Resources"].items()
            if resource["Type"] == kind
        }

    def whole(self, path: str) -> dict[str, Any]:
        """A resource with all that stands around its properties."""
        return next(resource for name, resource in self.body["Resources"].items() if self.path(name) == path)

    def properties(self, path: str) -> dict[str, Any]:
        """The properties of one resource."""
        properties: dict[str, Any] = self.whole(path)["Properties"]
        return properties

    def path(self, name: str) -> str:
        """The path of a resource in the stack, by the name that other resources refer to it by."""
        path: str = self.body["Resources"][name].get("Metadata", {}).get("aws:cdk:path", f"?/{name}")
        return path.partition("/")[2].removesuffix("/Resource")

    def place(self, value: Any) -> str:
        """What a property refers to, readable: a path, with the attribute or text that follows."""
        match value:
            case str():
                return value
            case {"Ref": name}:
                return self.path(name) if name in self.body["Resources"] else f"<{name}>"
            case {"Fn::GetAtt": [name, "Arn"]}:
                return self.path(name)
            case {"Fn::GetAtt": [name, attribute]}:
                return f"{self.path(name)}.{attribute}"
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.place(part) for part in parts)
        raise AssertionError(f"a reference of a kind not met before: {value}")

    def function(self, name: str) -> dict[str, Any]:
        """The properties of a function."""
        return self.properties(f"Functions/{name}/Function")

    def queue(self, name: str) -> dict[str, Any]:
        """The properties of a queue."""
        return self.properties(f"Queues/{name}")

    def mappings(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The event source mappings by their source and their function."""
        return {
            (
                self.place(mapping["EventSourceArn"]),
                self.place(mapping["FunctionName"]).removeprefix("Functions/").removesuffix("/Function"),
            ): mapping
            for mapping in self.of_type("AWS::Lambda::EventSourceMapping").values()
        }

    def rights(self, role_path: str) -> dict[str, set[str]]:
        """What a role may do: actions by the place on which they are allowed."""
        rights: dict[str, set[str]] = {}
        for statement in self.statements_of(role_path):
            if statement["Effect"] == "Allow":
                for resource in listed(statement["Resource"]):
                    rights.setdefault(self.place(resource), set()).update(listed(statement["Action"]))
        return rights

    def statements_of(self, role_path: str) -> list[dict[str, Any]]:
        """The statements of a role's policies."""
        return [
            statement
            for policy in self.of_type("AWS::IAM::Policy").values()
            if role_path in map(self.place, policy["Roles"])
            for statement in policy["PolicyDocument"]["Statement"]
        ]

    def statements(self) -> list[tuple[str, dict[str, Any]]]:
        """Every statement of every policy in the template, with the path of the resource that holds it."""
        return [
            (path, statement)
            for kind in {resource["Type"] for resource in self.body["Resources"].values()}
            for path, properties in self.of_type(kind).items()
            for statement in statements_in(properties)
        ]

    def asset(self, path: str) -> Path:
        """The folder on disk from which a function or a layer is made."""
        return self.folder / str(self.whole(path)["Metadata"]["aws:asset:path"])

    def findings(self) -> dict[str, list[str]]:
        """What cdk-nag found and nobody acknowledged: paths by rule."""
        report = json.loads((self.folder / "validation-report.json").read_text(encoding="utf-8"))
        return {
            violation["ruleName"]: [construct["constructPath"] for construct in violation["violatingConstructs"]]
            for plugin in report["pluginReports"]
            for violation in plugin["violations"]
        }


def listed(value: Any) -> list[Any]:
    """A list of one or many, which templates write in either way."""
    return value if isinstance(value, list) else [value]


def statements_in(value: Any) -> list[dict[str, Any]]:
    """All policy statements anywhere in a property."""
    if isinstance(value, dict):
        own = [value] if "Effect" in value and "Action" in value else []
        return own + [found for part in value.values() for found in statements_in(part)]
    if isinstance(value, list):
        return [found for part in value for found in statements_in(part)]
    return []


def cap_of(mapping: dict[str, Any]) -> int:
    """How many invocations a mapping may have at once: by its cap or by its pollers; Lambda takes only one of them."""
    caps = []
    if "ScalingConfig" in mapping:
        caps.append(mapping["ScalingConfig"]["MaximumConcurrency"])
    if "ProvisionedPollerConfig" in mapping:
        caps.append(mapping["ProvisionedPollerConfig"]["MaximumPollers"] * INVOCATIONS_OF_A_POLLER)
    (cap,) = caps
    return int(cap)
