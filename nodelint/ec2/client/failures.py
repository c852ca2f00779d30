"""Reasons why a question has no answer: botocore's exceptions as messages of nodelint, and whether a retry may help.

The codes are those of the "common errors" pages of EC2, SSM, IAM and STS. AWS's message text is not kept: it contains
accounts and principals, and a snapshot may be committed.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple


class CannotAsk(Exception):
    """Raised if no call to AWS is possible, with the reason and whether a retry may help (`transient`)."""

    def __init__(self, reason: str, transient: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.transient = transient


class CallFailure(NamedTuple):
    """The reason why a call got no answer. `fatal`: every other call of the run would fail as well.

    `code` is AWS's error code, empty if AWS did not answer. `garbled`: the answer cannot be read, and one more try is
    made (botocore retries other transient failures, but not this one). `unreachable`: the address of the service does
    not respond.
    """

    failed: str
    transient: bool = False
    fatal: bool = False
    code: str = ""
    garbled: bool = False
    unreachable: bool = False


class MalformedAnswer(Exception):
    """Raised for an answer that lacks a required part, like the page of a proxy or a login."""


_REFUSED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "NotAuthorized"}
_THROTTLED = {
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequests",
    "TooManyRequestsException",
    "PriorRequestNotComplete",
    "SlowDown",
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
}
_BUSY = {
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "InternalServiceError",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "Unavailable",
}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
_UNKNOWN_KEYS = {
    "AuthFailure",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "MissingAuthenticationToken",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_NOT_TAKEN = ("Invalid", "Malformed", "Validation", "UnknownParameter", "MissingParameter", "FilterLimitExceeded")

INVALID = frozenset({"ValidationException", "ValidationError", "InvalidParameter", "InvalidParameterValue"})
"""Error codes for a call whose arguments AWS does not accept."""

REFUSED = frozenset(_REFUSED)
"""Error codes for a call that the caller is not allowed to make."""


def classify_failure(error: Exception, operation: str, profile: str | None = None) -> CallFailure | None:
    """Return the failure that an exception means for the questions of a call. None if AWS or the network is not its
    cause.

    `operation` is written as IAM writes it: `ec2:DescribeImages`.
    """
    from botocore import exceptions as b
    from botocore.parsers import ResponseParserError

    if isinstance(error, b.ClientError):
        return _by_code(error, operation, profile)
    if isinstance(error, MalformedAnswer | ResponseParserError | b.IncompleteReadError | RecursionError):
        return CallFailure(f"the answer to `{operation}` cannot be read", transient=True, garbled=True)
    if isinstance(error, b.ReadTimeoutError):
        return CallFailure(f"`{operation}` timed out", transient=True)
    if isinstance(error, b.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return CallFailure("the certificate of the endpoint is not trusted; see AWS_CA_BUNDLE", fatal=True)
    if isinstance(error, b.EndpointConnectionError | b.ProxyConnectionError | b.ConnectionError):
        return unreachable(operation)
    if isinstance(error, b.ConnectionClosedError | b.HTTPClientError):
        return CallFailure(f"the connection of `{operation}` was cut", transient=True)
    if isinstance(error, b.ParamValidationError | b.InvalidRegionError | b.UnknownRegionError):
        return CallFailure(f"`{operation}` does not take the question ({type(error).__name__})")
    return _by_credentials(error, profile)


def unreachable(operation: str) -> CallFailure:
    """Return the failure for an operation whose service cannot be reached: no network, no such host, no server."""
    return CallFailure(f"`{operation}` cannot be reached", transient=True, unreachable=True)


def _by_code(error: Exception, operation: str, profile: str | None) -> CallFailure:
    response = getattr(error, "response", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(response.get("Error", {}).get("Code") or status)
    # EC2 has put "Client." or "Server." before codes at times.
    bare = code.removeprefix("Client.").removeprefix("Server.")
    if bare in _REFUSED:
        return CallFailure(f"`{operation}` is not allowed ({code})", code=bare)
    if bare in _THROTTLED or bare.startswith("Throttl"):
        return CallFailure(f"`{operation}` is throttled ({code})", transient=True, code=bare)
    if bare in _EXPIRED:
        return CallFailure(f"the credentials have expired ({code}); {_login(profile)}", fatal=True, code=bare)
    if bare == "RequestTimeTooSkewed":
        return CallFailure(f"the clock of this machine is off ({code})", fatal=True, code=bare)
    if bare in _UNKNOWN_KEYS:
        return CallFailure(f"the credentials are not valid here, or the region is not enabled ({code})", code=bare)
    if bare == "OptInRequired":
        return CallFailure(f"the account is not signed up for `{operation}` or the region ({code})", code=bare)
    if bare in _BUSY or status >= 500 or status in (408, 429):
        return CallFailure(f"`{operation}` failed at AWS ({code})", transient=True, code=bare)
    if bare.startswith(_NOT_TAKEN):
        return CallFailure(f"`{operation}` does not take the question ({code})", code=bare)
    return CallFailure(f"`{operation}` failed ({code})", code=bare)


def _by_credentials(error: Exception, profile: str | None) -> CallFailure | None:
    from botocore import exceptions as b

    if isinstance(error, b.NoCredentialsError):
        return CallFailure(f"no AWS credentials are available; {_login(profile)}", fatal=True)
    if isinstance(error, b.PartialCredentialsError):
        return CallFailure("the AWS credentials are not whole: key id and secret belong together", fatal=True)
    if isinstance(error, b.ProfileNotFound):
        return CallFailure(f"there is no AWS profile `{error.kwargs.get('profile', profile)}`", fatal=True)
    if type(error).__name__.startswith("Login"):  # Known to newer releases of botocore only.
        return CallFailure("the session of `aws login` has expired; run it again", fatal=True)
    if isinstance(error, b.SSOError | b.TokenRetrievalError):
        return CallFailure(f"the session of AWS SSO has expired; run `{_sso(profile)}`", fatal=True)
    if isinstance(error, b.MetadataRetrievalError):
        return CallFailure("the machine's AWS credentials cannot be had", transient=True, fatal=True)
    if isinstance(error, b.CredentialRetrievalError | b.RefreshWithMFAUnsupportedError | b.InvalidConfigError):
        return CallFailure(f"the AWS credentials cannot be had ({type(error).__name__})", fatal=True)
    if isinstance(error, b.BotoCoreError):
        return CallFailure(f"AWS cannot be asked ({type(error).__name__})", fatal=True)
    return None


def _sso(profile: str | None) -> str:
    return f"aws sso login --profile {profile}" if profile else "aws sso login"


def _login(profile: str | None) -> str:
    return f"log in, for example by `{_sso(profile)}`"
