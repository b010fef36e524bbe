"""The CDK command line as child programs: synthesise, bootstrap, deploy."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from carillon_cli.dev.child import Child, Program
from carillon_cli.dev.errors import REFUSED, UNREACHABLE, DevError
from carillon_cli.dev.operator import environment
from carillon_cli.dev.project import ACCOUNT, REGION, STACK_NAME, STAGE, Project
from carillon_cli.dev.workspace import Workspace

_SYNTH_SECONDS = 300.0
_BOOTSTRAP_SECONDS = 120.0
_DEPLOY_SECONDS = 300.0
_QUIET = ("--no-notices", "--no-color", "--ci")


@dataclass(frozen=True)
class Cdk:
    """Runs the CDK for one stack.

    Attributes:
        project: what is deployed.
        workspace: where the assembly, the outputs and the logs go.
        endpoint: the local AWS.
        stop: set when somebody asks to stop.
        api_url: where the API is to be reached.
    """

    project: Project
    workspace: Workspace
    endpoint: str
    stop: threading.Event
    api_url: str

    def start_synth(self) -> Child:
        """Start synthesising the local stage; needs no AWS."""
        choices = ["-c", f"stage={STAGE}", "-c", f"api_url={self.api_url}"]
        return self._start("synth", ["synth", "--quiet", *choices, "-o", str(self.workspace.assembly)])

    def finish_synth(self, synth: Child) -> None:
        """Wait for the synthesis.

        Raises:
            DevError: if it failed.
        """
        self._finish(synth, _SYNTH_SECONDS)

    def start_bootstrap(self) -> Child:
        """Start making the CDK's own stack, which takes assets."""
        return self._start("bootstrap", ["bootstrap", f"aws://{ACCOUNT}/{REGION}", "--app", ""])

    def finish_bootstrap(self, bootstrap: Child) -> None:
        """Wait for the CDK's own stack.

        Raises:
            DevError: if it failed.
        """
        self._finish(bootstrap, _BOOTSTRAP_SECONDS)

    def start_deploy(self) -> Child:
        """Start deploying what was synthesised. Unchanged resources are left alone."""
        arguments = ["deploy", STACK_NAME, "--app", str(self.workspace.assembly), "--require-approval", "never"]
        return self._start("deploy", [*arguments, "--method", "direct", "--outputs-file", str(self.workspace.outputs)])

    def finish_deploy(self, deploy: Child) -> None:
        """Wait for the deployment.

        Raises:
            DevError: if it failed.
        """
        self._finish(deploy, _DEPLOY_SECONDS)

    def outputs(self) -> dict[str, str]:
        """The outputs of the newest deployment."""
        outputs: dict[str, str] = json.loads(self.workspace.outputs.read_text())[STACK_NAME]
        return outputs

    def _start(self, step: str, arguments: Sequence[str]) -> Child:
        log = self.workspace.logs / f"cdk-{step}.log"
        log.unlink(missing_ok=True)
        argv = [str(self.project.cdk), *arguments, *_QUIET]
        return Child(Program(f"cdk {step}", argv, environment(self.endpoint), self.project.root, log))

    def _finish(self, child: Child, timeout_seconds: float) -> None:
        try:
            status = child.wait(timeout_seconds, self.stop)
        except TimeoutError as error:
            raise DevError(str(error), UNREACHABLE, child.tail()) from error
        if status != 0:
            raise DevError(f"{child.program.name} failed with status {status}", REFUSED, child.tail())
