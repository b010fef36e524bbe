"""A local stack from start to end: the order of the steps, and everything undone in reverse."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from carillon_cli.dev import ports
from carillon_cli.dev.aws import LocalAws
from carillon_cli.dev.cdk import Cdk
from carillon_cli.dev.child import Child
from carillon_cli.dev.errors import REFUSED, UNREACHABLE, USAGE, DevError
from carillon_cli.dev.gateway import Gateway, Upstream
from carillon_cli.dev.local_aws.settings import Settings
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import STACK_NAME, TOOLKIT_NAME, Project, checkout
from carillon_cli.dev.provision import Credentials, Deployment, Provision, provision
from carillon_cli.dev.workspace import Workspace, workspace, write_json

_API_ID = re.compile(r"//([0-9a-z]+)\.execute-api\.")
_CHILD_GRACE_SECONDS = 2.0
_HEALTH_PATH = "/v1/health"
# Functions that a first run passes through, and that take a batch; an empty one starts a process and no more. Two
# batches at a time are usual for the worker: its second process would start while a run is due.
_WARMED = ("DispatcherFunction", "WorkerFunction", "WorkerFunction")
_STOP_CHECK_SECONDS = 0.2


@dataclass(frozen=True)
class Options:
    """How a stack is run.

    Attributes:
        port: of the API; None takes 8080 or the next free one.
        state: the folder that keeps jobs for a restart; None keeps nothing.
        ready_file: written when the API can be used, removed at the end.
        enforces: whether IAM is enforced.
        project: what is deployed.
        provision: makes the first tenant.
    """

    port: int | None = None
    state: Path | None = None
    ready_file: Path | None = None
    enforces: bool = False
    project: Project = field(default_factory=lambda: Project(checkout()))
    provision: Provision = provision


@dataclass(frozen=True)
class Running:
    """A stack that is up.

    Attributes:
        url: of the API.
        credentials: of the tenant `dev`.
        deployment: the local AWS and the stack's outputs.
        aws: the local AWS's process.
    """

    url: str
    credentials: Credentials
    deployment: Deployment
    aws: LocalAws

    def ready_document(self) -> dict[str, str]:
        """What the ready file holds."""
        return {
            "url": self.url,
            "api_key": self.credentials.api_key,
            "signing_secret": self.credentials.signing_secret,
            "aws_endpoint": self.deployment.endpoint,
            "console": f"{self.url}/console",
        }

    def wait(self, stop: threading.Event) -> None:
        """Stay until `stop` is set.

        Raises:
            DevError: if the local AWS ends by itself.
        """
        while not stop.wait(_STOP_CHECK_SECONDS):
            self.check()

    def check(self) -> None:
        """Raise if the local AWS has ended by itself.

        Raises:
            DevError: if so.
        """
        if self.aws.child.exited():
            raise DevError("the local AWS has ended", UNREACHABLE, self.aws.child.tail())


@contextmanager
def running_stack(options: Options, progress: Progress, stop: threading.Event) -> Iterator[Running]:
    """Start a stack; at the end of the block, or when a step fails, stop all that was started.

    Raises:
        DevError: if a step fails.
        Interrupted: if `stop` was set meanwhile.
    """
    options.project.check()
    port = ports.api_port(options.port)
    if options.ready_file is not None:
        options.ready_file.unlink(missing_ok=True)  # of a stack that was killed
    with ExitStack() as undo:
        area = undo.enter_context(workspace(options.state))
        running = _Start(options, area, progress, stop, undo).run(port)
        if options.ready_file is not None:
            undo.callback(options.ready_file.unlink, missing_ok=True)
            write_json(options.ready_file, running.ready_document())
        yield running


@dataclass(frozen=True)
class _Start:
    options: Options
    area: Workspace
    progress: Progress
    stop: threading.Event
    undo: ExitStack

    def run(self, port: int) -> Running:
        gateway = self._gateway(port)
        settings = self._settings()
        url = f"http://localhost:{port}"
        cdk = Cdk(self.options.project, self.area, settings.endpoint, self.stop, url)
        fingerprint = f"{self.options.project.fingerprint()} {url}"  # the functions are told the address
        unchanged = self.area.deployed_fingerprint() == fingerprint
        synth = None if unchanged else self._begin(cdk.start_synth())  # takes longest and needs no AWS
        aws = self._aws(settings)
        if not (unchanged and aws.has_stack(STACK_NAME)):
            self._deploy(cdk, aws, synth or self._begin(cdk.start_synth()))
        deployment = Deployment(aws.endpoint, cdk.outputs())
        credentials = self._credentials(deployment, aws)
        self.area.fingerprint.write_text(fingerprint)
        gateway.open(_upstream(aws, deployment))
        with self.progress.step("first functions started"):
            self._wake(aws, deployment)
            gateway.check(_HEALTH_PATH)
        return Running(url, credentials, deployment, aws)

    def _gateway(self, port: int) -> Gateway:
        try:
            gateway = Gateway(port)
        except OSError as error:
            raise DevError(f"cannot listen on port {port}: {error.strerror}", USAGE) from error
        gateway.start()
        self.undo.callback(gateway.close)
        return gateway

    def _settings(self) -> Settings:
        return Settings(
            port=self._aws_port(),
            directory=self.area.aws,
            keeps=not self.area.temporary,
            enforces=self.options.enforces,
            throwaway=self.area.root if self.area.temporary else None,
        )

    def _aws_port(self) -> int:
        """A new port, or the one that the kept state belongs to."""
        if not self.area.aws_port.exists():
            port = ports.aws_port()
            self.area.aws_port.write_text(f"{port}\n")
            return port
        port = int(self.area.aws_port.read_text())
        if not ports.is_free(port):
            raise DevError(f"port {port}, to which the state in {self.area.root} belongs, is in use", USAGE)
        return port

    def _begin(self, child: Child) -> Child:
        self.undo.callback(child.stop, _CHILD_GRACE_SECONDS)
        return child

    def _aws(self, settings: Settings) -> LocalAws:
        with self.progress.step("local AWS up"):
            aws = LocalAws(settings, self.area)
            self.undo.callback(aws.stop)
            aws.wait_ready(self.stop)
        return aws

    def _deploy(self, cdk: Cdk, aws: LocalAws, synth: Child) -> None:
        self._bootstrap(cdk, aws)
        with self.progress.step("stack synthesised, after another"):
            cdk.finish_synth(synth)
        with self.progress.step("stack deployed"):
            cdk.finish_deploy(self._begin(cdk.start_deploy()))

    def _bootstrap(self, cdk: Cdk, aws: LocalAws) -> None:
        if aws.has_stack(TOOLKIT_NAME):
            return
        with self.progress.step("bootstrapped"):
            cdk.finish_bootstrap(self._begin(cdk.start_bootstrap()))
            if self.options.enforces:
                aws.admit_plain_http()

    def _credentials(self, deployment: Deployment, aws: LocalAws) -> Credentials:
        """Those of the state, or new ones, which are kept only when what they belong to is."""
        kept = Credentials.load(self.area.credentials)
        credentials = kept or self.options.provision(deployment)
        aws.checkpoint()
        if kept is None:
            write_json(self.area.credentials, asdict(credentials))
        return credentials

    def _wake(self, aws: LocalAws, deployment: Deployment) -> None:
        """Send the first ticks now, not at the scheduler's first minute, and start what the first job passes."""
        functions = [deployment.outputs[name] for name in _WARMED if name in deployment.outputs]
        with ThreadPoolExecutor(1 + len(functions)) as pool:
            ticking = pool.submit(aws.invoke, deployment.outputs["TickerFunction"], {})
            for function in functions:
                pool.submit(aws.invoke, function, {"Records": []})
        problem = ticking.result()
        if problem is not None:
            raise DevError(f"the ticker failed: {problem}", REFUSED, aws.child.tail())


def _upstream(aws: LocalAws, deployment: Deployment) -> Upstream:
    """The API's path on the local AWS, which it serves whatever the Host header says."""
    found = _API_ID.search(deployment.outputs["ApiUrl"])
    if found is None:
        raise DevError(f"the stack's ApiUrl names no HTTP API: {deployment.outputs['ApiUrl']}", REFUSED)
    return Upstream(aws.settings.port, f"/_aws/execute-api/{found[1]}/$default", aws.settle)
