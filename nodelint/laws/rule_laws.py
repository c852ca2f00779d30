"""Check every rule, nodelint's and a team's, on the examples of its page.

A law is a function that yields the differences from the law for one pair of a bad and a good example. The first line
of its docstring is printed as the law. Only `nodelint test-rules` and the tests load this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import unified_diff
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.edits import apply
from nodelint.laws.unknown_law import judged_unknowns
from nodelint.lint.engine import DEFAULTS, LintRequest, Report, Selection
from nodelint.lint.results import Result
from nodelint.model.cluster_objects import PATTERN
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Suggestion
from nodelint.model.manifest import EC2NodeClass, served
from nodelint.model.messages import LONGEST_MESSAGE
from nodelint.report.page import ExampleError, alone, fixed_text, judge_example, read_example, target_of
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.rule.examples import Example, example_pairs, examples, frame_errors
from nodelint.rule.policies import UNEVALUATED
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source

_NAMES = "(?:Bottlerocket|Karpenter|Kubernetes|Linux|Windows)"
_START = re.compile(rf"[a-z0-9`\"'(]|{_NAMES}|[A-Z][a-zA-Z0-9]*[A-Z]")
"""The allowed beginning of a message: a lowercase word, or a name with capitals."""
_LONGEST_PART, _LONGEST_FINDING = 180, 320

# Fields that are not in the hash of Karpenter, with which it compares nodes. A change of other fields replaces nodes.
_NO_DRIFT = re.compile(
    r"(NodePool:(?!spec\.template)|NodePool:spec\.template\.spec\.requirements|"
    r"EC2NodeClass:(?!spec))"
)


class BrokenLaw(NamedTuple):
    """A law that a rule breaks.

    - `example`: the number of the pair of examples, from 1. None if the page as a whole breaks the law.
    - `law`: the law as a sentence.
    - `difference`: what differs from it.
    """

    rule: str
    example: int | None
    law: str
    difference: str


class ExamplePair(NamedTuple):
    """A pair of examples of a rule, numbered from 1.

    If `good` is None, the good example is the bad one after the fix.
    """

    rule: Rule
    number: int
    bad: Example
    good: Example | None

    def __str__(self) -> str:
        return f"{self.rule.name}-{self.number}"


def cases(rule: Rule) -> list[ExamplePair]:
    """Return the pairs of examples on a rule's page.

    A bad example without a good one counts only if the rule has a fix.
    """
    pairs = [pair for pair in example_pairs(rule.page) if pair[1] is not None or rule.fix]
    return [ExamplePair(rule, number, *pair) for number, pair in enumerate(pairs, 1)]


class Trial:
    """Run rules on their examples.

    - `rules`: all rules by name, with the rules under test.
    - `own`: names of rules of a team. Their findings in examples of other rules are ignored: an example need not meet
      a team's policies.
    """

    def __init__(self, rules: Mapping[str, Rule], own: Collection[str] = ()) -> None:
        self.rules = rules
        self._own = own
        self.judge = cache(self._judge)
        self.fixed_text = cache(self._fixed_text)
        self.good = cache(self._good)

    def _judge(self, text: str, example: Example, rule: Rule | None = None) -> Report:
        """Return the report of one rule, or of the default profile, for a text.

        Raise ExampleError if a rule fails.
        """
        request = LintRequest(target_of(example), self.rules, alone(rule) if rule else DEFAULTS)
        report = judge_example(read_example(text).files, request)
        if report.faults:
            raise ExampleError("\n".join(report.faults))
        return report

    def bad_results(self, case: ExamplePair) -> tuple[Result, ...]:
        """Return the findings of the rule in its bad example."""
        return self.judge(case.bad.text, case.bad, case.rule).results

    def default_results(self, text: str, example: Example, case: ExamplePair) -> list[Result]:
        """Return the findings of the default profile in a text that replaces an example.

        Other rules of `own` are left out.
        """
        results = self.judge(text, example).results
        return [r for r in results if r.rule.name == case.rule.name or r.rule.name not in self._own]

    def has_fix(self, case: ExamplePair) -> bool:
        """Return whether a finding of the bad example has a fix. A rule with fixes may have examples without one."""
        return any(result.fixable for result in self.bad_results(case))

    def _fixed_text(self, text: str, case: ExamplePair, name: str = "example.yaml") -> str:
        """Return the text with every fix of the rule applied. Raise ExampleError if a fix would break the file."""
        return fixed_text(text, case.bad, case.rule, self.rules, name)

    def _good(self, case: ExamplePair) -> Example:
        """Return the good example of a pair: the written one, else the bad example after the fix."""
        if case.good is not None:
            return case.good
        return case.bad._replace(good=True, text=self.fixed_text(case.bad.text, case))

    def broken_laws(self, rule: Rule) -> list[BrokenLaw]:
        """Return every law that a rule breaks, for its page and for each of its pairs of examples."""
        broken = [BrokenLaw(rule.name, None, law, found) for law, found in self._page_differences(rule)]
        for case in cases(rule):
            unjudged = list(_differences(example_is_judged, self, case))
            broken += (BrokenLaw(rule.name, case.number, *difference) for difference in unjudged)
            if unjudged:
                continue
            laws = [*PAIR_LAWS, *(FIX_LAWS if self.has_fix(case) else ())]
            for law in laws:
                broken += (BrokenLaw(rule.name, case.number, *found) for found in _differences(law, self, case))
        return broken

    def _page_differences(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Yield each law about a whole page that the page breaks, and what differs."""
        for error in frame_errors(rule.page):
            yield "The lines of an example have their places in its frame.", error
        found = list(examples(rule.page))
        good = sum(example.good for example in found)
        if not found or good > len(found) - good or (not rule.fix and good * 2 != len(found)):
            law = "A page has pairs of examples: each bad one has its good one, written or made by the fix."
            yield law, f"it has {len(found) - good} bad and {good} good examples"
        unknown = [name for name in rule.gives_way_to if name not in self.rules]
        if unknown:
            yield "The rules in gives_way_to exist.", f"there is no rule {', '.join(unknown)}"
        if rule.summary.endswith(":"):
            yield "The first line of a page is a whole sentence.", rule.summary
        try:
            shown = any(self.has_fix(case) for case in cases(rule))
        except Exception:  # an example that cannot be judged breaks a law of its own
            return
        if found and shown != bool(rule.fix):
            law = "A rule that says it fixes shows a fix in its examples, and no other does."
            yield law, f"`fix` is {rule.fix!r}, and {'an' if shown else 'no'} example has a fix"


Law = Callable[[Trial, ExamplePair], Iterator[str]]


def _differences(law: Law, trial: Trial, case: ExamplePair) -> Iterator[tuple[str, str]]:
    sentence = (law.__doc__ or law.__name__).strip().partition("\n")[0]
    try:
        for difference in law(trial, case):
            yield sentence, difference
    except ExampleError as error:
        yield sentence, str(error)
    except Exception as error:  # a rule is code: its author must fix whatever it raises
        yield sentence, f"{type(error).__name__}: {error}"


def example_is_judged(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The rule judges both examples without an error."""
    for example in (case.bad, trial.good(case)):
        for result in trial.judge(example.text, example, case.rule).results:
            if result.finding.message.startswith(UNEVALUATED):
                yield f"{'good' if example.good else 'bad'} example: {result.finding.message}"


def bad_example_is_found(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The rule reports the bad example, and does not report the good one."""
    report = trial.judge(case.bad.text, case.bad, case.rule)
    if not report.results:
        reasons = {skip.reason for skip in report.skipped if skip.rule == case.rule.name}
        yield "nothing is found in the bad example" + "".join(f"; skipped: {reason}" for reason in sorted(reasons))
    # In addition to its default findings, a rule may have advice for the strict profile.
    profiles = {_profile(result) for result in report.results}
    for result in trial.judge(trial.good(case).text, trial.good(case), case.rule).results:
        if not profiles or _profile(result) in profiles or result.severity == "error":
            yield f"in the good example: {_place(result)}"


def _profile(result: Result) -> tuple[bool, bool]:
    return result.finding.strict, result.finding.on_request


def rule_is_heard_among_all(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """A run of all rules reports the rule as well: superseding rules do not hide it."""
    names = (name for name, rule in trial.rules.items() if rule.group != "practice" or rule is case.rule)
    files = read_example(case.bad.text).files
    report = judge_example(files, LintRequest(target_of(case.bad), trial.rules, Selection(frozenset(names))))
    others = {result.rule.name for result in report.results}
    if case.rule.name not in others:
        yield f"only {', '.join(sorted(others)) or 'nothing'} is heard"


def _reports_ended_image(result: Result) -> bool:
    return "ended-image" in result.rule.tags and result.severity == "warning"


def good_example_is_good(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The good example trips no other rule of the default profile."""
    # Some things only Amazon Linux 2 does. Its end of support is then a true finding.
    is_ended = "alias: al2@" in trial.good(case).text
    for result in trial.default_results(trial.good(case).text, trial.good(case), case):
        if result.rule.name != case.rule.name and not (is_ended and _reports_ended_image(result)):
            yield f"{result.severity}[{result.rule.name}]: {_place(result)}"


def messages_are_short(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """A message is one line, short, begins in lower case, has no full stop and does not repeat the rule's name."""
    name = case.rule.name.replace("-", " ")
    for message in {result.finding.message for result in trial.bad_results(case)}:
        if len(message) > LONGEST_MESSAGE:
            yield f"{len(message)} characters, of at most {LONGEST_MESSAGE}: {message}"
        if message.endswith(".") or "\n" in message or not _START.match(message):
            yield message
        if re.sub(r"[^a-z]+", " ", message.lower()).strip().startswith(name):
            yield f"it says the rule's name again: {message}"


def findings_are_short(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """Note and help are short, begin as messages do, and repeat nothing."""
    for result in trial.bad_results(case):
        parts = [result.finding.message, *filter(None, (result.finding.note, result.finding.help))]
        if len(set(parts)) < len(parts):
            yield f"it is said twice: {parts}"
        if len(" ".join(parts)) > _LONGEST_FINDING:
            yield f"{len(' '.join(parts))} characters, of at most {_LONGEST_FINDING}: {parts}"
        for part in parts[1:]:
            if len(part) > _LONGEST_PART or "\n" in part or part.endswith(".") or not _START.match(part):
                yield part


def suggestions_mend(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """Each suggestion alone gives a text without the finding and without errors."""
    for result in trial.bad_results(case):
        suggestions = result.finding.suggestions
        if len({suggestion.name for suggestion in suggestions}) < len(suggestions):
            yield "two suggestions have one name"
        for suggestion in suggestions:
            text = _apply_suggestion(case.bad.text, suggestion)
            left = trial.default_results(text, case.bad, case)
            if text == case.bad.text:
                yield f"{suggestion.name}: it changes nothing"
            for other in left:
                if other.rule.name == case.rule.name or other.severity == "error":
                    yield f"{suggestion.name}: {_place(other)}"


def fix_makes_the_good_example(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The fix of the bad example gives the good one, and a second run changes nothing."""
    fixed = trial.fixed_text(case.bad.text, case)
    yield from _difference(trial.good(case).text, fixed)
    yield from _difference(fixed, trial.fixed_text(fixed, case))


def fix_is_valid(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The schema accepts the fixed text."""
    context = _context(case, trial.fixed_text(case.bad.text, case))
    for obj in context.objects:
        if served(obj, context.karpenter):
            yield from (problem.message for problem in context.problems(obj))


def fix_keeps_the_form(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The fix is the same with CRLF, a byte order mark, another document before, or no line break at the end."""
    for form in (with_crlf, with_bom, with_document_before, without_last_newline):
        difference = _difference(form(trial.good(case).text), trial.fixed_text(form(case.bad.text), case))
        yield from (f"{form.__name__.replace('_', ' ')}: {text}" for text in difference)


def fix_keeps_comments(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """Lines that the fix does not change keep their comments, and comments do not change the result."""
    commented = with_comments(case.bad.text)
    fixed = trial.fixed_text(commented, case)
    yield from _value_difference(_values(trial.fixed_text(case.bad.text, case)), _values(fixed))
    comments = [line for line in commented.splitlines() if line in fixed.splitlines()]
    plain = [line for line in case.bad.text.splitlines() if line in trial.good(case).text.splitlines()]
    if len(comments) < len(plain):
        yield f"of {len(plain)} lines with comments, {len(comments)} are left"


def fix_is_the_same_in_json(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """The fix of the same objects in JSON gives the same values."""
    roots, wanted = _values(case.bad.text), _values(trial.good(case).text)
    # Files of a folder, template code, comments and further documents cannot be written in JSON.
    if case.bad.files or "{{" in case.bad.text or case.rule.on in (Source, Suppression) or len(wanted) != len(roots):
        return
    for indent in (2, None):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": roots}, indent=indent) + "\n"
        fixed = json.loads(trial.fixed_text(text, case, "example.json"))
        yield from _value_difference(wanted, fixed["items"])


def safe_fix_replaces_no_node(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """A safe fix does not change fields that cause drift, unless the object could not work at all."""
    report = trial.judge(case.bad.text, case.bad, case.rule)
    context = Context(list(report.objects), report.target)
    safe = [r for r in report.results if r.fixable and r.safety == "safe" and r.severity != "error"]
    for path in (path for result in safe for edit in result.finding.edits for path in _drifting(context, edit)):
        images = _found_images(case, case.bad.text), _found_images(case, trial.good(case).text)
        # Terms for images are not in the hash: Karpenter compares nodes with the images that the terms select.
        if "spec.amiSelectorTerms" not in path or images[0] != images[1] or not images[0]:
            yield f"the fix is said to be safe, and changes {path}"


def unknown_values_are_not_judged(trial: Trial, case: ExamplePair) -> Iterator[str]:
    """If a value is unknown, the rule finds nothing that it did not find before."""
    for example in (case.bad, trial.good(case)):
        yield from judged_unknowns(example.text, lambda text, at=example: trial.judge(text, at, case.rule))  # type: ignore[misc]


PAIR_LAWS: tuple[Law, ...] = (
    bad_example_is_found,
    rule_is_heard_among_all,
    good_example_is_good,
    messages_are_short,
    findings_are_short,
    suggestions_mend,
    unknown_values_are_not_judged,
)
"""The laws about every pair of examples."""

FIX_LAWS: tuple[Law, ...] = (
    fix_makes_the_good_example,
    fix_is_valid,
    fix_keeps_the_form,
    fix_keeps_comments,
    fix_is_the_same_in_json,
    safe_fix_replaces_no_node,
)
"""The laws about a pair whose bad example is fixed."""


def with_crlf(text: str) -> str:
    """Return the text with the line breaks of Windows."""
    return text.replace("\n", "\r\n")


def with_bom(text: str) -> str:
    """Return the text with a byte order mark before it."""
    return "\ufeff" + text


def with_document_before(text: str) -> str:
    """Return the text as the second document of a file."""
    return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: karpenter-settings\n---\n" + text


def without_last_newline(text: str) -> str:
    """Return the text without its final line break, as some editors save it."""
    return text.removesuffix("\n")


def with_comments(text: str) -> str:
    """Return the text with a comment at the end of each line that has none.

    A text with a block scalar stays the same.
    """
    if re.search(r": [|>]", text):
        return text  # a comment inside a block scalar would be text
    return "".join(
        line if "#" in line or not line.strip() or line.startswith("---") else f"{line[:-1]} # noted\n"
        for line in text.splitlines(keepends=True)
    )


def _place(result: Result) -> str:
    start = result.span.source.position(result.span.start)
    return f"line {start.line}: {result.finding.message}"


def _difference(wanted: str, got: str) -> Iterator[str]:
    """Yield the difference of two texts as a diff. Nothing if they are equal."""
    if wanted == got:
        return
    diff = list(unified_diff(wanted.splitlines(), got.splitlines(), "wanted", "made", lineterm="", n=1))
    yield "\n".join(diff) if diff else "only the line breaks differ"


def _value_difference(wanted: Sequence[object], got: Sequence[object]) -> Iterator[str]:
    texts = [json.dumps(values, indent=1, default=str) for values in (wanted, got)]
    yield from _difference(*texts)


def _values(text: str) -> list[object]:
    """Return the plain values of the documents of a text."""
    return [
        document.root.plain() for document in Source.from_text("a.yaml", text, PATTERN).documents if document.root
    ]


def _context(case: ExamplePair, text: str) -> Context:
    """Return a rule's context for a text that replaces the bad example."""
    target = target_of(case.bad)
    found = list(objects(Source.from_text("example.yaml", text, PATTERN)))
    return Context(found, target)


def _apply_suggestion(text: str, suggestion: Suggestion) -> str:
    sources = read_example(text).files
    changed = {edit.source.path for edit in suggestion.edits}
    return "".join(
        apply(source.text, suggestion.edits) if source.path in changed else source.text for source in sources
    )


def _drifting(context: Context, edit: Edit) -> Iterator[str]:
    """Yield the fields that an edit changes and that can cause drift, as `Kind:path`."""
    for obj in context.objects:
        for node in obj.node.walk():
            field = f"{obj.kind}:{node.path}"
            is_edited = node.kind == "scalar" and node.start >= edit.start and node.end <= edit.end
            if is_edited and not _NO_DRIFT.match(field):
                yield field


def _found_images(case: ExamplePair, text: str) -> list[str]:
    """Return the ids of the images that the classes of a text select in the account of the example."""
    context = _context(case, text)
    found = [image for o in context.objects if isinstance(o, EC2NodeClass) for image in context.images(o).images]
    return [image.found.id for image in found if image.found is not None]
