"""The points of Karpenter's requirement algebra at which a re-implementation goes wrong, one by one."""

import pytest

from nodelint.model.releases import RELEASES, Version
from nodelint.model.requirement import (
    MAX_INT,
    Requirement,
    Requirements,
    integer,
    normalize,
    well_known,
    well_known_since,
)

OLD = Version(1, 8, 3)


def parse(text: str, version: Version | None = None) -> Requirements:
    """`Gt 4, NotIn 8|9, min 3` and `other/key In a`: requirements on the key `k` unless one is named."""
    requirements = Requirements()
    for part in filter(None, text.split(", ")):
        words = part.split(" ")
        least = int(words.pop()) if len(words) > 2 and words[-2] == "min" else None
        if least is not None:
            words.pop()
        key = words.pop(0) if "/" in words[0] else "k"
        values = words[1].split("|") if len(words) > 1 else []
        requirements.add(Requirement.parse(key, words[0], values, least, version))
    return requirements


def parse_requirement(text: str, version: Version | None = None) -> Requirement:
    (requirement,) = parse(text, version)
    return requirement


def compatible(existing: str, incoming: str, version: Version | None = None) -> bool:
    return parse(existing, version).compatible(parse(incoming, version)) is None


class TestBoundsAndNumbers:
    def test_strict_bounds_become_inclusive(self) -> None:
        both = parse_requirement("Gt 3, Lt 5")
        assert (both.operator, both.greater_equal, both.less_equal) == ("Exists", 4, 4)
        assert parse_requirement("Gt 3, Lt 4").operator == "DoesNotExist"

    def test_a_bound_below_zero_stays(self) -> None:
        below = parse_requirement("Lt 0")
        assert (below.operator, below.greater_equal, below.less_equal) == ("Exists", None, -1)
        assert below.admits("-1")
        assert not below.admits("0")

    def test_what_is_no_integer_drops_out_under_a_bound(self) -> None:
        assert parse_requirement("In abc|5, Lt 9") == parse_requirement("In 5")
        left = parse_requirement("NotIn 5|abc|100, Gt 9")
        assert (left.operator, left.values, left.greater_equal) == ("NotIn", frozenset({"100"}), 10)
        assert parse_requirement("NotIn 5|abc, Gt 9").operator == "Exists"

    @pytest.mark.parametrize("bound", ["Gt 3", "Lt 9", "Gte 3", "Lte 9", "Gt 3, Lt 9"])
    def test_a_finite_result_forgets_its_bounds(self, bound: str) -> None:
        result = parse_requirement(f"In 5|abc, {bound}")
        assert (result.values, result.greater_equal, result.less_equal) == (frozenset({"5"}), None, None)

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("007", 7),
            ("+7", 7),
            ("-0", 0),
            ("0", 0),
            ("-12", -12),
            (str(MAX_INT), MAX_INT),
            ("0" * 5000 + "7", 7),
            (str(-MAX_INT - 1), -MAX_INT - 1),
        ],
    )
    def test_integers(self, text: str, number: int) -> None:
        assert integer(text) == number

    @pytest.mark.parametrize(
        "text",
        [
            "1_000",
            "5.0",
            "1e3",
            " 5",
            "5 ",
            "5\n",
            "٣",
            "",
            "+",
            "-",
            "+-5",
            "0x10",
            "5a",
            "９",
            "--5",
            str(MAX_INT + 1),
            str(-MAX_INT - 2),
            "1" * 5000,
        ],
    )
    def test_no_integers(self, text: str) -> None:
        assert integer(text) is None
        assert not parse_requirement("Gte 0").admits(text)
        assert not parse_requirement("Lte 0").admits(text)

    def test_exclusion_is_by_text(self) -> None:
        both = parse_requirement("NotIn 7, Gte 7")
        assert not both.admits("7")
        assert both.admits("007")

    def test_a_range_that_is_wholly_excluded_is_not_seen_as_empty(self) -> None:
        assert compatible("Gte 4, Lte 4, NotIn 4", "Exists")
        assert not parse_requirement("Gte 4, Lte 4, NotIn 4").admits("4")

    def test_above_the_largest_integer_there_is_nothing_and_no_min_values(self) -> None:
        above = parse_requirement(f"Gt {MAX_INT} min 3")
        assert (above.operator, above.min_values) == ("DoesNotExist", None)

    def test_below_the_smallest_integer_wraps_round(self) -> None:
        assert parse_requirement(f"Lt {-MAX_INT - 1}").less_equal == MAX_INT

    def test_a_bound_that_is_no_number_is_read_as_the_controller_does(self) -> None:
        assert parse_requirement("Gte five").greater_equal == 0
        assert parse_requirement("Lte 99999999999999999999").less_equal == MAX_INT
        assert parse_requirement("Gte -99999999999999999999").greater_equal == -MAX_INT - 1

    def test_a_bound_takes_its_first_value(self) -> None:
        assert parse_requirement("Gte 5|9").greater_equal == 5

    def test_what_admission_refuses_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match="needs a value"):
            Requirement.parse("k", "Gt", ())
        with pytest.raises(ValueError, match="`in`"):
            Requirement.parse("k", "in", ("a",))


class TestOldCores:
    """Before 1.9.0 bounds were exclusive and Gte and Lte had no meaning."""

    def test_nothing_between_two_bounds_is_not_seen_as_empty(self) -> None:
        both = parse_requirement("Gt 3, Lt 4", OLD)
        assert both.operator == "Exists"
        assert not both.admits("3")
        assert not both.admits("4")
        assert not compatible("DoesNotExist", "Gt 3, Lt 4", OLD)
        assert compatible("DoesNotExist", "Gt 3, Lt 4")

    @pytest.mark.parametrize("more", ["Exists", "NotIn 9", "NotIn a"])
    def test_nor_is_it_once_more_is_added(self, more: str) -> None:
        assert parse_requirement(f"Gt 3, Lt 4, {more}", OLD).operator == "Exists"
        assert parse_requirement(f"Gt 3, Lt 4, {more}").operator == "DoesNotExist"

    @pytest.mark.parametrize("text", ["Gt 3, Lt 3", "Gt 4, Lt 3", "Lt 0, Gt 5"])
    def test_crossed_bounds_are_empty_in_any_release(self, text: str) -> None:
        assert parse_requirement(text, OLD).operator == parse_requirement(text).operator == "DoesNotExist"

    def test_above_the_largest_integer_the_label_is_still_asked_for(self) -> None:
        above = parse_requirement(f"Gt {MAX_INT} min 3", OLD)
        assert (above.operator, above.min_values) == ("Exists", 3)
        assert not above.admits(str(MAX_INT))

    def test_inclusive_operators_mean_no_more_than_exists(self) -> None:
        assert parse_requirement("Gte 5", OLD) == parse_requirement("Lte 5", OLD) == parse_requirement("Exists")

    def test_the_border_is_1_9_0(self) -> None:
        assert parse_requirement("Gt 3, Lt 4", Version(1, 8, 8)).operator == "Exists"
        assert parse_requirement("Gt 3, Lt 4", Version(1, 9, 0)).operator == "DoesNotExist"


class TestOperatorsAndUndefinedKeys:
    def test_bounds_alone_count_as_exists_and_as_not_in_beside_an_exclusion(self) -> None:
        assert not compatible("", "Gt 4")
        assert compatible("", "Gt 4, NotIn 8")
        assert not compatible("", "Gt 4, NotIn 2")

    def test_not_in_and_does_not_exist_alone_pass_on_undefined_keys(self) -> None:
        passing = ["NotIn a", "DoesNotExist", "In a", "Exists", "Gt 1", "Lt 1", "Gte 1", "Lte 1"]
        assert [text for text in passing if compatible("", text)] == ["NotIn a", "DoesNotExist"]

    def test_empty_lists(self) -> None:
        assert Requirement.parse("k", "NotIn", ()).operator == "Exists"
        assert Requirement.parse("k", "In", ()).operator == "DoesNotExist"

    @pytest.mark.parametrize("text", ["In a, In b", "Gt 5, Lt 3", "In a, NotIn a", "Exists, DoesNotExist"])
    def test_a_contradiction_passes_on_an_undefined_key(self, text: str) -> None:
        assert parse_requirement(text).operator == "DoesNotExist"
        assert compatible("", text)

    @pytest.mark.parametrize("operator", ["Exists", "DoesNotExist"])
    def test_values_of_exists_and_does_not_exist_are_ignored(self, operator: str) -> None:
        assert Requirement.parse("k", operator, ("a", "b")) == Requirement.parse("k", operator)


class TestNotInMeetsDoesNotExist:
    def test_two_such_sides_are_compatible_without_a_common_value(self) -> None:
        for existing in ("NotIn a", "DoesNotExist"):
            for incoming in ("NotIn b", "DoesNotExist"):
                assert compatible(existing, incoming)

    @pytest.mark.parametrize(
        ("existing", "incoming"),
        [
            ("Exists", "DoesNotExist"),
            ("Gt 4", "DoesNotExist"),
            ("In a", "NotIn a"),
            ("In a", "DoesNotExist"),
            ("DoesNotExist", "Exists"),
            ("DoesNotExist", "Gt 4"),
            ("DoesNotExist", "In a"),
            ("NotIn a", "In a"),
        ],
    )
    def test_one_such_side_is_not_enough(self, existing: str, incoming: str) -> None:
        assert not compatible(existing, incoming)

    def test_a_bound_with_a_live_exclusion_is_such_a_side(self) -> None:
        assert compatible("Gt 4, NotIn 8", "DoesNotExist")
        assert not compatible("Gt 4, NotIn 2", "DoesNotExist")

    def test_even_where_no_number_fits(self) -> None:
        assert compatible("Gt 4, NotIn 9", "Lt 3, NotIn 1")
        assert not compatible("Gt 4", "Lt 3")

    def test_a_side_that_folded_to_nothing_accepts_not_in(self) -> None:
        assert compatible("In a, In b", "NotIn c")
        assert not compatible("In a, In b", "In c")


class TestKeys:
    def test_well_known_keys_may_be_undefined_but_not_absent(self) -> None:
        zone = "topology.kubernetes.io/zone"
        requested = parse(f"{zone} In a")
        assert Requirements().compatible(requested) == zone
        assert Requirements().compatible(requested, well_known()) is None
        assert parse(f"{zone} DoesNotExist").compatible(requested, well_known()) == zone

    def test_membership_is_by_the_exact_key(self) -> None:
        for key in (
            "karpenter.k8s.aws/ec2nodeclass",
            "kubernetes.io/hostname",
            "karpenter.sh/initialized",
            "karpenter.sh/registered",
            "karpenter.k8s.aws/instance-famly",
        ):
            assert key not in well_known()
        assert {
            "karpenter.sh/nodepool",
            "karpenter.sh/capacity-type",
            "topology.k8s.aws/zone-id",
        } <= well_known()

    @pytest.mark.parametrize(
        ("alias", "key"),
        [
            ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
            ("beta.kubernetes.io/os", "kubernetes.io/os"),
            ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
            ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
            ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
            ("topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"),
        ],
    )
    def test_six_aliases_are_replaced_on_both_sides(self, alias: str, key: str) -> None:
        assert normalize(alias) == key
        assert not parse(f"{alias} In a").compatible(parse(f"{key} In a"))
        assert parse(f"{key} In a").compatible(parse(f"{alias} In b")) == key
        assert Requirements.from_labels({alias: "a"}).keys() == {key}

    def test_no_other_key_is_replaced(self) -> None:
        for key in ("beta.kubernetes.io/zone", "kubernetes.io/arch", "k"):
            assert normalize(key) == key

    def test_a_key_that_is_given_twice_intersects(self) -> None:
        assert parse_requirement("In a|b, In b|c") == parse_requirement("In b")

    def test_types_are_asked_by_intersects_which_ignores_keys_of_one_side(self) -> None:
        instance_type = parse("x/cpu In 4, x/gpu DoesNotExist")
        pool = parse("x/cpu In 4|8, x/team In a")
        assert instance_type.intersects(pool) is None
        assert instance_type.compatible(pool) == "x/team"
        assert instance_type.intersects(parse("x/gpu Exists")) == "x/gpu"

    def test_labels_are_requirements(self) -> None:
        pool = parse("x/team In a|b")
        pool.add(*Requirements.from_labels({"x/team": "c"}))
        assert pool.get("x/team").operator == "DoesNotExist"


class TestMinValues:
    def test_the_larger_one_is_kept_on_empty_results_too(self) -> None:
        assert parse_requirement("In 1|2 min 2, In 1|2|3 min 3").min_values == 3
        assert parse_requirement("In 1 min 2, In 2 min 3").min_values == 3
        assert parse_requirement("Gt 5 min 4, Lt 3 min 2").min_values == 4
        assert parse_requirement("Exists min 5, In 1").min_values == 5

    def test_the_algebra_never_checks_it(self) -> None:
        narrowed = parse_requirement("In 1|2|3 min 3, In 1")
        assert (narrowed.values, narrowed.min_values) == (frozenset({"1"}), 3)
        assert compatible("In 1", "In 1|2|3 min 3")


class TestValues:
    def test_an_empty_text_is_a_value(self) -> None:
        empty = Requirement.parse("k", "In", ("",))
        assert empty.operator == "In"
        assert Requirement.parse("k", "Exists").admits("")
        assert empty.intersects(Requirement.parse("k", "Exists"))
        assert not Requirement.parse("k", "NotIn", ("",)).admits("")

    def test_length(self) -> None:
        assert parse_requirement("In a|b").length == 2
        assert parse_requirement("DoesNotExist").length == 0
        assert parse_requirement("NotIn a|b").length == MAX_INT - 2
        assert parse_requirement("Exists").length == MAX_INT

    def test_text(self) -> None:
        assert str(parse_requirement("Gt 3, NotIn 9|8, Lt 20 min 2")) == "k NotIn [8, 9] >=4 <=19 minValues 2"

    def test_a_copy_is_added_to_on_its_own(self) -> None:
        first = parse("In a|b")
        second = first.copy()
        second.add(*parse("In a"))
        assert first == parse("In a|b")
        assert second == parse("In a")


class TestWellKnownByRelease:
    @pytest.mark.parametrize(
        ("label", "since"),
        [
            ("instance-cpu-sustained-clock-speed-mhz", "1.1.0"),
            ("capacity-reservation-id", "1.3.0"),
            ("capacity-reservation-type", "1.6.0"),
            ("instance-capability-flex", "1.7.0"),
            ("instance-tenancy", "1.9.0"),
            ("capacity-reservation-interruptible", "1.10.0"),
            ("placement-group-id", "1.11.0"),
            ("placement-group-partition", "1.11.0"),
            ("nitro-sandbox", "1.15.0"),
        ],
    )
    def test_a_label_is_there_from_its_release_on(self, label: str, since: str) -> None:
        key = f"karpenter.k8s.aws/{label}"
        border = Version.parse(since)
        assert well_known_since(key) == border
        for release in RELEASES:
            assert (key in well_known(release)) == (release >= border)

    def test_all_others_are_there_from_the_start(self) -> None:
        assert len(well_known() - well_known(Version(1, 0, 0))) == 9
        assert well_known_since("kubernetes.io/hostname") is None
