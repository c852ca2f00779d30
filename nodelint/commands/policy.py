"""`nodelint policy`: rules as admission policies of a cluster."""

from __future__ import annotations

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import config_options, session_of, settings_of
from nodelint.commands._console import echo, stop
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.commands._shell_completion import rule_names

if TYPE_CHECKING:
    from typing import Literal, Unpack

    from nodelint.commands._flags import PolicyFlags


@click.command(cls=GroupedCommand)
@click.option(
    "--action",
    type=WordChoice(["audit", "deny"]),
    default="audit",
    show_default=True,
    help="`audit` warns and writes to the audit log; `deny` refuses the object.",
)
@click.option(
    "--select", multiple=True, metavar="RULE,...", shell_complete=rule_names, help="Only policies of these rules."
)
@click.option(
    "--ignore", multiple=True, metavar="RULE,...", shell_complete=rule_names, help="No policies of these rules."
)
@click.option(
    "--profile",
    type=WordChoice(["minimal", "default", "strict"]),
    help="Rules to print. Default: `default`, or what the configuration says.",
)
@click.option(
    "--karpenter-version", metavar="VERSION", help="The release that the cluster runs. Default: the newest known."
)
@config_options
def command(action: Literal["audit", "deny"], **flags: Unpack[PolicyFlags]) -> None:
    """Print ValidatingAdmissionPolicies and their bindings for the rules that read one object alone.

    The API server evaluates each policy when a NodePool or EC2NodeClass is created or updated. It needs
    Kubernetes 1.30. The policies use the thresholds of the configuration.

    \b
    Examples:
      nodelint policy | kubectl apply -f -
      nodelint policy --select imds-v1,unencrypted-volume --action deny
    """
    from nodelint.policy.objects import make_policy
    from nodelint.policy.text import policy_text
    from nodelint.rule.definition import bundled, load

    settings = settings_of(flags)
    session = session_of(settings)
    selection, own = session.selection, session.rules
    stated = load(bundled())
    chosen = [
        rule
        for name, rule in stated.items()
        if rule.cel and selection.enables(own[name]) and rule.applies_to_release(settings.karpenter)
    ]
    if not chosen:
        stop("none of the selected rules can be a policy: each reads other objects, or facts about EC2")
    manifests = [part for rule in chosen for part in make_policy(rule, action, settings.options.get(rule.name))]
    echo(policy_text(manifests))
