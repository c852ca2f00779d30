"""Send questions to AWS through boto3. No other module calls boto3.

    account = Account(now="2026-11-20T12:00:00Z", profile=None, timeout=60.0, on_progress=None)
    ask = account.region("eu-west-1")                   # a questions.Ask
    reply = gather(ask, "eu-west-1", classes, karpenter, kubernetes)
    account.calls                                       # Counter({"ec2:DescribeImages": 12, ...})
    account.default_region                              # the region of environment or profile, or None
    json.dumps(policy(), indent=2)                      # the IAM policy for all questions

Every question has an answer in the reply, or the reason why there is none. `ask(())`, without a question, returns
only the account. If no call is possible (no boto3, no credentials, expired ones), `ask` and `default_region` raise
`CannotAsk(reason, transient)`. Ctrl-C interrupts `ask` at once. Importing this package does not import boto3.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from time import monotonic
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import nodelint
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.client.calls import (
    IDENTITY,
    OPERATIONS,
    ApiCall,
    Brought,
    OfferedTypes,
    UnusableAnswer,
    planned,
    send_call,
    sender,
)
from nodelint.ec2.client.descriptions import OwnedRecord
from nodelint.ec2.client.failures import CallFailure, CannotAsk, classify_failure, unreachable
from nodelint.ec2.client.price_lists import pricing_region
from nodelint.ec2.client.workers import Going, done
from nodelint.ec2.facts import WORDS
from nodelint.ec2.questions import EVERYWHERE, Ask
from nodelint.ec2.snapshot import TABLE_OF, Answer, Offering, Question, Region, Reply, account_hash, kept_images

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["Account", "CannotAsk", "Progress", "policy"]

Progress = Callable[[int, int, str], None]
"""Called after every call with the number of finished calls, the number of planned calls, and the last topic."""

_ONE_FOR_ALL = ("roles", "instance-profiles")
"""Kinds of facts of IAM, which has no regions: one answer holds in all regions."""


class Account:
    """An AWS account, called with the credentials that boto3 finds. AWS_ENDPOINT_URL is honoured.

    `now` (ISO 8601, UTC) is the time stated in the answers. A question without an answer `timeout` seconds after the
    first one has failed for now. `attempts` is the number of tries of a call, `wait` the most seconds for a
    connection or an answer, `workers` the number of parallel calls. `calls` counts the calls by operation; the tries
    of one call count as one.
    """

    def __init__(
        self,
        now: str,
        profile: str | None = None,
        timeout: float = 60.0,
        on_progress: Progress | None = None,
        attempts: int = 5,
        wait: float = 20.0,
        workers: int = 8,
    ) -> None:
        self.calls: Counter[str] = Counter()
        self._now = now
        self._profile = profile
        self._timeout = timeout
        self._on_progress = on_progress
        self._attempts = attempts
        self._wait = wait
        self._workers = workers
        self._counting = Lock()
        self._begun: Session | None = None
        self._until = 0.0
        self._clients: dict[tuple[str, str], Any] = {}
        self._id: str | None = None
        self._identified: set[str] = set()
        self._everywhere: dict[Question, Answer] = {}
        self._unreachable: set[Any] = set()
        self._heard = False
        self._done = self._planned = 0

    @property
    def default_region(self) -> str | None:
        """Return the region that the environment or the profile sets. None if neither does. Raise CannotAsk if
        boto3 is not installed or the profile cannot be used.
        """
        return self._session().region_name

    def region(self, name: str) -> Ask:
        """Return a function that sends questions to a region. This method raises nothing; the returned function
        raises CannotAsk.
        """
        return lambda questions: self._ask(name, questions)

    def _ask(self, name: str, questions: Sequence[Question]) -> Reply:
        wanted = list(dict.fromkeys(questions))
        if set(wanted) & set(EVERYWHERE):
            # An offering is recorded from both answers, so that both are requested.
            wanted = list(dict.fromkeys((*wanted, *EVERYWHERE)))
        answered = {q: self._everywhere[q] for q in wanted if q in self._everywhere}
        plan = [call.starting(self._now) for call in planned(q for q in wanted if q not in answered)]
        self._prepare(name)
        lost = self._lost(name)
        if lost is not None:
            return Reply(Region(name, None, {q: _answer_failed(self._now, lost) for q in wanted}))
        unpriced: dict[Question, CallFailure] = {}
        if any(call.kind == "prices" for call in plan) and not self._prepare_pricing(name):
            no_list = CallFailure("the price list of AWS has no prices of the region in USD")
            unpriced = {q: no_list for call in plan if call.kind == "prices" for q in call.questions}
            plan = [call for call in plan if call.kind != "prices"]
        brought, failed = self._run(name, plan)
        failed.update(unpriced)
        if not self._heard and not brought and failed and all(failure.fatal for failure in failed.values()):
            first = next(iter(failed.values()))
            raise CannotAsk(first.failed, first.transient)
        self._heard = self._heard or bool(wanted)
        reply = self._reply(name, wanted, brought, failed, answered)
        for question, answer in reply.region.answers.items():
            if question.kind in _ONE_FOR_ALL and answer.failed is None:
                self._everywhere[question] = answer
        return reply

    def _session(self) -> Session:
        if self._begun is None:
            try:
                import boto3
                from botocore.exceptions import BotoCoreError
            except ImportError as error:
                raise CannotAsk("boto3 is not installed; `pip install boto3`") from error
            try:
                self._begun = boto3.Session(profile_name=self._profile)
                self._begun.events.register("before-call", self._count)
            except BotoCoreError as error:
                raise self._cannot(error) from error
        return self._begun

    def _prepare(self, region: str) -> None:
        """Get credentials and create the clients, in this thread because creating them is not thread-safe. Raise
        CannotAsk if no call is possible.
        """
        session = self._session()
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError, InvalidRegionError, NoCredentialsError

        if (region, "sts") in self._clients:
            return
        if not self._until:
            self._until = monotonic() + self._timeout
        try:
            credentials = session.get_credentials()
            if credentials is None:
                raise NoCredentialsError
            # Request temporary credentials here, so that an error is reported once.
            credentials.get_frozen_credentials()
            config = Config(
                connect_timeout=min(self._wait, 10.0),
                read_timeout=self._wait,
                retries={"mode": "adaptive", "total_max_attempts": self._attempts},
                max_pool_connections=self._workers,
                user_agent_extra=f"nodelint/{nodelint.__version__}",
            )
            # STS cannot be reached if there is a VPC endpoint for EC2 alone. Calls must not wait long for it then.
            brief = Config(connect_timeout=3.0, read_timeout=5.0, retries={"total_max_attempts": 2})
            for service in ("ec2", "ssm", "iam", "sts"):
                its = config.merge(brief) if service == "sts" else config
                self._clients[region, service] = session.client(service, region_name=region, config=its)
        except InvalidRegionError:
            return
        except (BotoCoreError, ClientError) as error:
            raise self._cannot(error) from error
        except ValueError as error:
            raise CannotAsk(
                "the AWS settings hold what is not a URL; see AWS_ENDPOINT_URL and `endpoint_url`"
            ) from error

    def _prepare_pricing(self, region: str) -> bool:
        """Create the client of the price list, which few regions have. Return False if the price list has no prices
        of the region.
        """
        where = pricing_region(region)
        if where is not None and (region, "pricing") not in self._clients:
            from botocore.config import Config

            # STS cannot be reached if there is a VPC endpoint for EC2 alone.
            config = Config(connect_timeout=3.0, read_timeout=self._wait, retries={"total_max_attempts": 2})
            self._clients[region, "pricing"] = self._session().client("pricing", region_name=where, config=config)
        return where is not None

    def _cannot(self, error: Exception) -> CannotAsk:
        failure = classify_failure(error, "sts:AssumeRole", self._profile) or CallFailure(str(error))
        return CannotAsk(failure.failed, failure.transient)

    def _lost(self, region: str) -> CallFailure | None:
        """Return the reason if there is no region with this name. None if there is one."""
        client = self._clients.get((region, "ec2"))
        if client is None:
            return CallFailure(f"`{region}` is not a region")
        host = urlsplit(client.meta.endpoint_url).hostname or ""
        session = self._session()
        named = region not in host or any(
            region in session.get_available_regions("ec2", partition)
            for partition in session.get_available_partitions()
        )
        if named:
            return None
        # A region may be newer than boto3's list.
        try:
            socket.getaddrinfo(host, 443)
        except OSError:
            return CallFailure(f"there is no region `{region}`")
        return None

    def _count(self, model: Any, **_: Any) -> None:
        with self._counting:
            self.calls[f"{model.service_model.service_name}:{model.name}"] += 1

    def _run(
        self, region: str, plan: Sequence[ApiCall]
    ) -> tuple[dict[Question, Sequence[Any]], dict[Question, CallFailure]]:
        """Make calls in parallel. Return the results and the failures, by question."""
        known = Catalog.bundled() if any(call.kind == "instance-types" for call in plan) else None
        jobs: list[ApiCall | None] = [*plan]
        if self._id is None and region not in self._identified:
            self._identified.add(region)
            jobs.insert(0, None)
        self._planned += len(jobs)
        brought: dict[Question, Sequence[Any]] = {}
        failed: dict[Question, CallFailure] = {}

        def do(job: ApiCall | None, going: Going) -> _Outcome:
            return self._identify(region) if job is None else self._outcome(region, job, known, going)

        for job, outcome in done(jobs, do, self._workers, self._until):
            brought.update(outcome.brought)
            failed.update(outcome.failed)
            self._id = self._id or outcome.account
            self._done += 1
            if self._on_progress is not None:
                self._on_progress(self._done, self._planned, "the account" if job is None else WORDS[job.kind])
        late = CallFailure(f"timed out after {self._timeout:g} s", transient=True)
        for call in plan:
            failed.update({q: late for q in call.questions if q not in brought and q not in failed})
        return brought, failed

    def _outcome(
        self, region: str, call: ApiCall, known: Catalog | None, going: Going, again: bool = True
    ) -> _Outcome:
        client = self._clients[region, call.operation.split(":")[0]]
        if client in self._unreachable:
            # Each further call would wait as long as the first one, which was repeated several times.
            return _Outcome(failed=dict.fromkeys(call.questions, unreachable(call.operation)))
        try:
            brought = send_call(call, client, known, going)
        except UnusableAnswer as error:
            return _Outcome(failed=dict.fromkeys(call.questions, CallFailure(str(error))))
        except Exception as error:
            failure = classify_failure(error, call.operation, self._profile)
            if failure is None:
                raise
            if failure.unreachable:
                self._unreachable.add(client)
            if failure.garbled and again:
                return self._outcome(region, call, known, going, again=False)
            parts = [self._outcome(region, part, known, going) for part in call.apart(failure.code)]
            if not parts:
                return _Outcome(failed=dict.fromkeys(call.questions, failure))
            return _Outcome(
                {q: found for part in parts for q, found in part.brought.items()},
                {q: failure for part in parts for q, failure in part.failed.items()},
            )
        left_out = CallFailure(f"the answer to `{call.operation}` leaves it out", transient=True)
        return _Outcome(brought, {q: left_out for q in call.questions if q not in brought})

    def _identify(self, region: str) -> _Outcome:
        """Return the account id. If it is None, records of the account have its number as owner instead of `self`."""
        try:
            account = sender(self._clients[region, "sts"], IDENTITY)().get("Account")
            return _Outcome(account=account if isinstance(account, str) and account.strip() else None)
        except Exception as error:
            if classify_failure(error, IDENTITY, self._profile) is None:
                raise
            return _Outcome()

    def _reply(
        self,
        region: str,
        wanted: Iterable[Question],
        brought: Mapping[Question, Sequence[Any]],
        failed: Mapping[Question, CallFailure],
        answered: Mapping[Question, Answer],
    ) -> Reply:
        tables: dict[str, dict[str, Any]] = {}
        answers: dict[Question, Answer] = {}
        for question in wanted:
            if question in answered:
                answers[question] = answered[question]
            elif question in failed:
                answers[question] = _answer_failed(self._now, failed[question])
            else:
                answers[question] = self._answer(question, brought[question], tables)
        sold: Sequence[OfferedTypes] = brought.get(EVERYWHERE[0], ())
        zones: Mapping[str, tuple[str, ...]] = dict(brought.get(EVERYWHERE[1], ()))
        tables["offerings"] = {
            offering.row[0]: Offering(offering.row[0], zones[offering.row[0]], offering.capacity)
            for offering in sold
            if offering.row[0] in zones
        }
        # A hash is equal for the same account, and does not reveal its number.
        account = None if self._id is None else account_hash(self._id)
        return Reply(Region(region, account, answers, **tables), tuple(offering.row for offering in sold))

    def _answer(self, question: Question, found: Sequence[Any], tables: dict[str, dict[str, Any]]) -> Answer:
        field = TABLE_OF.get(question.kind)
        if question in EVERYWHERE:
            return Answer(self._now, total=len(found))
        if field is None:
            unusable = next((record for record in found if isinstance(record, UnusableAnswer)), None)
            if unusable is not None:
                return Answer(self._now, failed=str(unusable))
            return Answer(self._now, tuple(found), len(found))
        records = [self._owned(record, question) for record in found]
        images = kept_images(records, self._now) if question.kind == "images" else records
        table = tables.setdefault(field, {})
        for record in images:
            if record.id not in table or getattr(record, "owner", "") == "self":
                table[record.id] = record
        return Answer(self._now, tuple(record.id for record in images), len(records))

    def _owned(self, found: OwnedRecord, question: Question) -> Any:
        """Return a record whose owner is `self` if it belongs to the account."""
        record, account = found
        own = bool(account) and account == self._id
        if self._id is None and question.kind == "images" and "self" in question.owners:
            # The question has aliases of Amazon and `self` as owners. An owner with a number is therefore the
            # account.
            own = record.owner == account and not any(owner.isdigit() for owner in question.owners)
        return record._replace(owner="self") if own else record


def _answer_failed(at: str, failure: CallFailure) -> Answer:
    return Answer(at, failed=failure.failed, transient=failure.transient)


_NONE: Mapping[Question, Any] = MappingProxyType({})


class _Outcome(NamedTuple):
    brought: Brought = _NONE
    failed: Mapping[Question, CallFailure] = _NONE
    account: str | None = None


def policy() -> dict[str, Any]:
    """Return the minimal IAM policy for all questions.

    SSM parameters of your own (`ssmParameter`) also need `ssm:GetParameters` on their ARNs. `sts:GetCallerIdentity`
    needs no permission. EC2 supports no resource-level permissions for Describe actions
    (https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html).
    """
    actions = sorted(OPERATIONS.values())
    statements = (
        ("DescribeWhatSelectorsFind", "ec2:", "*"),
        ("ReadParametersOfPublicImages", "ssm:", "arn:aws:ssm:*::parameter/aws/service/*"),
        ("SeeWhetherRolesExist", "iam:", "*"),
        ("ReadPrices", "pricing:", "*"),
    )
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": sid,
                "Effect": "Allow",
                "Action": [action for action in actions if action.startswith(service)],
                "Resource": resource,
            }
            for sid, service, resource in statements
        ],
    }
