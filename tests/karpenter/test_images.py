"""Which images a class finds, by release and Kubernetes version."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.karpenter.images import (
    ImageSet,
    alias_images,
    aliases_with,
    families,
    family_example,
    family_title,
    image_since,
    images_of,
    provenance,
)
from nodelint.karpenter.images.names import globs_meet, name_matches, parameter_matches
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, RELEASES, KubernetesVersion, Version
from nodelint.text import Source


def v(text: str) -> Version:
    return Version.parse(text)


def node_class(spec: str, api: str = "v1", partial: bool = False) -> EC2NodeClass:
    text = f"apiVersion: karpenter.k8s.aws/{api}\nkind: EC2NodeClass\nmetadata: {{name: a}}\nspec: {spec}\n"
    source = Source.from_text("class.yaml", text)
    assert not source.problems
    (found,) = objects(source)
    assert isinstance(found, EC2NodeClass)
    found.partial = partial
    return found


def find(
    spec: str,
    version: Version = NEWEST,
    kubernetes: str | None = None,
    api: str = "v1",
    partial: bool = False,
) -> ImageSet:
    wanted = KubernetesVersion.parse(kubernetes) if kubernetes else None
    return images_of(node_class(spec, api, partial), version, wanted)


def alias(name: str) -> str:
    return f"{{amiSelectorTerms: [{{alias: '{name}'}}]}}"


def shapes(images: ImageSet) -> set[tuple[str | None, tuple[str, ...]]]:
    return {(image.arch, image.variants) for image in images.images}


AMD, ARM = ("amd64", ("standard",)), ("arm64", ("standard",))


@pytest.mark.parametrize(
    ("name", "releases", "expected"),
    [
        ("al2@latest", RELEASES, {AMD, ARM, ("amd64", ("nvidia", "neuron"))}),
        (
            "al2023@latest",
            [r for r in RELEASES if r < v("1.4.0")],
            {AMD, ARM, ("amd64", ("nvidia",)), ("amd64", ("neuron",))},
        ),
        (
            "al2023@latest",
            [r for r in RELEASES if r >= v("1.4.0")],
            {AMD, ARM, ("amd64", ("nvidia",)), ("amd64", ("neuron",)), ("arm64", ("nvidia",))},
        ),
        (
            "bottlerocket@latest",
            [r for r in RELEASES if r < v("1.1.0")],
            {AMD, ARM, ("amd64", ("nvidia", "neuron")), ("arm64", ("nvidia", "neuron"))},
        ),
        (
            "bottlerocket@latest",
            [r for r in RELEASES if v("1.1.0") <= r < v("1.2.2")],
            {AMD, ARM, ("amd64", ("nvidia",)), ("arm64", ("nvidia",))},
        ),
        (
            "bottlerocket@latest",
            [r for r in RELEASES if r >= v("1.2.2")],
            {("amd64", ("standard", "neuron")), ARM, ("amd64", ("nvidia",)), ("arm64", ("nvidia",))},
        ),
        ("windows2022@latest", RELEASES, {("amd64", ("windows",))}),
        ("windows2025@latest", [r for r in RELEASES if r >= v("1.9.0")], {("amd64", ("windows",))}),
    ],
)
def test_images_of_an_alias(name: str, releases: list[Version], expected: set[tuple[str, tuple[str, ...]]]) -> None:
    assert releases
    for release in releases:
        images = find(alias(name), release)
        assert shapes(images) == expected, release
        assert images.complete
        assert all(image.alias == name and image.known for image in images.images)


def test_arm64_gpu_image_of_al2023_is_younger_than_some_versions_of_the_alias() -> None:
    assert ("arm64", ("nvidia",)) not in shapes(find(alias("al2023@v20250301")))
    assert ("arm64", ("nvidia",)) in shapes(find(alias("al2023@v20250403")))


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("al2@lates", "version", "`al2@lates`"),
        ("al2023@2025", "version", "`al2023@2025`"),
        ("al2023@", "version", "`al2023@`"),
        ("al2@Latest", "version", "`al2@Latest`"),
        ("windows2022@v1", "version", "`windows2022@v1`"),
        ("ubuntu@latest", "family", "`ubuntu`"),
        ("AL2023@latest", "family", "`AL2023`"),
        ("latest", "family", "`latest`"),
    ],
)
def test_alias_that_finds_nothing(name: str, kind: str, words: str) -> None:
    images = find(alias(name))
    assert not images.images
    assert [problem.kind for problem in images.problems] == [kind]
    assert words in images.problems[0].message
    assert images.problems[0].active


@pytest.mark.parametrize(
    "name", ["bottlerocket@v1.46.0", "bottlerocket@1.46.0", "bottlerocket@v1.46.0-431fe75a", "al2@v20240807"]
)
def test_pinned_alias(name: str) -> None:
    images = find(alias(name))
    assert images.images
    assert not any(problem.active for problem in images.problems)


def test_windows_2025_needs_a_release() -> None:
    images = find(alias("windows2025@latest"), v("1.8.8"))
    assert not images.images
    assert (images.problems[0].kind, images.problems[0].since) == ("release", v("1.9.0"))


@pytest.mark.parametrize(
    ("name", "kubernetes", "there"),
    [
        ("al2@latest", "1.32", True),
        ("al2@latest", "1.33", False),
        ("windows2025@latest", "1.34", False),
        ("windows2025@latest", "1.35", True),
        ("al2023@latest", "1.36", True),
    ],
)
def test_kubernetes_decides(name: str, kubernetes: str, there: bool) -> None:
    images = find(alias(name), NEWEST, kubernetes)
    assert bool(images.images) is there
    assert bool(images.problems) is not there
    assert all(problem.active for problem in images.problems)


def test_without_kubernetes_version_nothing_is_removed_and_the_border_is_named() -> None:
    images = find(alias("al2@latest"))
    assert len(images.images) == 3
    (problem,) = images.problems
    assert (problem.kind, problem.active, problem.kubernetes) == (
        "kubernetes",
        False,
        KubernetesVersion(1, 33),
    )
    assert not find(alias("al2023@latest")).problems


def test_variants_were_swapped_before_1_0_3() -> None:
    def asks(release: str) -> dict[tuple[str, ...], str]:
        return {
            image.variants: next(iter(image.choices[0].keys() - {"kubernetes.io/arch"}))
            for image in find(alias("al2023@latest"), v(release)).images
            if image.variants != ("standard",)
        }

    gpu, accelerator = (
        "karpenter.k8s.aws/instance-gpu-count",
        "karpenter.k8s.aws/instance-accelerator-count",
    )
    assert asks("1.0.2") == {("nvidia",): accelerator, ("neuron",): gpu}
    assert asks("1.0.3") == {("nvidia",): gpu, ("neuron",): accelerator}


def test_placeholder_behind_the_family_leaves_only_the_version_open() -> None:
    images = find("{amiSelectorTerms: [{alias: 'al2023@${AL2023_VERSION}'}]}")
    assert len(images.images) == 5
    assert images.complete
    assert images.notes
    assert images.images[0].alias == "al2023@${AL2023_VERSION}"


@pytest.mark.parametrize(
    "spec",
    [
        "{amiSelectorTerms: [{alias: '${ALIAS}'}]}",
        "{amiSelectorTerms: '${TERMS}'}",
        "{amiSelectorTerms: ['${TERM}'], amiFamily: AL2}",
        "{amiSelectorTerms: [{id: ami-0123}], amiFamily: AL2}",
        "{amiSelectorTerms: [{id: '${AMI}'}], amiFamily: AL2}",
        "{amiSelectorTerms: [{name: my-image-arm64-*}], amiFamily: AL2}",
        "{amiSelectorTerms: [{name: '*amazon-eks-node-al2023-arm64*'}], amiFamily: AL2}",
        "{amiSelectorTerms: [{tags: {team: web}}], amiFamily: AL2}",
        "{amiSelectorTerms: [{ssmParameter: /my/image}], amiFamily: AL2}",
    ],
)
def test_what_only_aws_knows_is_unknown(spec: str) -> None:
    images = find(spec)
    assert len(images.unknown) == 1
    assert not images.complete
    assert [image.known for image in images.images] == [False]


def test_known_and_unknown_images_side_by_side() -> None:
    terms = "[{id: ami-0123}, {name: 'amazon-eks-node-al2023-arm64-standard-1.33-*'}]"
    images = find(f"{{amiSelectorTerms: {terms}, amiFamily: AL2023}}")
    assert [(image.arch, image.known) for image in images.images] == [(None, False), ("arm64", True)]
    assert [item.at.text for item in images.unknown] == ["ami-0123"]
    assert len(images.known) == 1


def test_part_of_a_class_has_its_images_elsewhere() -> None:
    images = find("{role: x}", partial=True)
    assert not images.complete
    assert not images.problems


def test_class_without_terms() -> None:
    images = find("{amiFamily: AL2023}")
    assert [problem.kind for problem in images.problems] == ["missing"]
    assert not images.images


def test_v1beta1_family_is_its_alias_at_latest() -> None:
    images = find("{amiFamily: Bottlerocket}", v("1.0.5"), api="v1beta1")
    assert {image.alias for image in images.images} == {"bottlerocket@latest"}
    assert images.ami_family == "Bottlerocket"
    assert not find("{amiFamily: Ubuntu}", v("1.0.5"), api="v1beta1").images


@pytest.mark.parametrize(
    ("spec", "os", "build"),
    [
        (alias("al2023@latest"), "linux", None),
        (alias("windows2019@latest"), "windows", "10.0.17763"),
        ("{amiFamily: Windows2022, amiSelectorTerms: [{id: ami-1}]}", "windows", "10.0.20348"),
        ("{amiFamily: Custom, amiSelectorTerms: [{alias: windows2022@latest}]}", "linux", None),
        ("{amiFamily: '${FAMILY}', amiSelectorTerms: [{id: ami-1}]}", None, None),
    ],
)
def test_family_decides_the_operating_system(spec: str, os: str | None, build: str | None) -> None:
    images = find(spec)
    assert (images.os, images.build) == (os, build)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("amazon-eks-node-1.29-v20240703", {("amd64", ("standard",), "al2")}),
        ("amazon-eks-arm64-node-1.29-*", {("arm64", ("standard",), "al2")}),
        ("amazon-eks-gpu-node-1.29-*", {("amd64", ("nvidia", "neuron"), "al2")}),
        ("amazon-eks-node-al2023-x86_64-standard-1.31-v20250403", {("amd64", ("standard",), "al2023")}),
        ("amazon-eks-node-al2023-x86_64-nvidia-560-1.32-v*", {("amd64", ("nvidia",), "al2023")}),
        (
            "amazon-eks-node-al2023-*-standard-1.3?-*",
            {("amd64", ("standard",), "al2023"), ("arm64", ("standard",), "al2023")},
        ),
        (
            "amazon-eks-node-*",
            {
                ("amd64", ("standard", "nvidia", "neuron"), None),
                ("arm64", ("standard", "nvidia"), "al2023"),
            },
        ),
        ("bottlerocket-aws-k8s-1.31-x86_64-v1.26.2-360b7a38", {("amd64", ("standard",), "bottlerocket")}),
        ("bottlerocket-aws-k8s-1.31-nvidia-aarch64-*", {("arm64", ("nvidia",), "bottlerocket")}),
        ("Windows_Server-2022-English-Core-EKS_Optimized-1.31-*", {("amd64", ("windows",), "windows2022")}),
        (
            "ubuntu-eks/k8s_1.29/images/hvm-ssd/ubuntu-jammy-22.04-arm64-server-20240701",
            {("arm64", ("standard",), "ubuntu")},
        ),
        ("my-own-arm64", set()),
        ("*", set()),
        ("amazon-eks-custom-1", set()),
        ("amazon*", set()),
    ],
)
def test_names(pattern: str, expected: set[tuple[str, tuple[str, ...], str | None]]) -> None:
    assert set(name_matches(pattern)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/nvidia/recommended/image_id",
            ("arm64", ("nvidia",), "al2023"),
        ),
        (
            "/aws/service/eks/optimized-ami/1.31/amazon-linux-2-gpu/recommended/image_id",
            ("amd64", ("nvidia", "neuron"), "al2"),
        ),
        (
            "/aws/service/bottlerocket/aws-k8s-1.31-nvidia/x86_64/latest/image_id",
            ("amd64", ("nvidia",), "bottlerocket"),
        ),
        (
            "arn:aws:ssm:us-east-1::parameter/aws/service/bottlerocket/aws-k8s-1.31/arm64/latest/image_id",
            ("arm64", ("standard",), "bottlerocket"),
        ),
        (
            "/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.31/image_id",
            ("amd64", ("windows",), "windows2019"),
        ),
    ],
)
def test_parameters(path: str, expected: tuple[str, tuple[str, ...], str]) -> None:
    assert parameter_matches(path) == [expected]
    images = find(f"{{amiFamily: AL2023, amiSelectorTerms: [{{ssmParameter: '{path}'}}]}}")
    assert [(image.arch, image.parameter) for image in images.images] == [(expected[0], path)]


def test_parameters_came_with_1_4() -> None:
    images = find("{amiFamily: AL2, amiSelectorTerms: [{ssmParameter: /my/image}]}", v("1.3.8"))
    assert not images.images
    assert images.problems[0].since == v("1.4.0")


def test_images_by_name_ask_for_their_architecture_alone() -> None:
    images = find("{amiFamily: AL2, amiSelectorTerms: [{name: 'amazon-eks-gpu-node-1.29-*'}]}")
    (image,) = images.images
    assert [choice.keys() for choice in image.choices] == [frozenset({"kubernetes.io/arch"})]


def test_several_terms_of_one_architecture_are_noted() -> None:
    terms = "[{name: amazon-eks-node-1.29-v20240703}, {name: amazon-eks-gpu-node-1.29-v20240703}]"
    images = find(f"{{amiFamily: AL2, amiSelectorTerms: {terms}}}")
    assert len(images.images) == 2
    assert [node.text for node, _ in images.notes] == ["amazon-eks-gpu-node-1.29-v20240703"]


GLOB = st.text("ab?*", max_size=6)


@given(GLOB, st.text("ab", max_size=6))
def test_a_glob_meets_a_text_as_fnmatch_says(glob: str, text: str) -> None:
    assert globs_meet(glob, text) == globs_meet(text, glob) == fnmatch.fnmatchcase(text, glob)


@given(GLOB, GLOB, st.text("ab", max_size=6))
def test_globs_with_a_common_text_meet(first: str, other: str, text: str) -> None:
    assert globs_meet(first, other) == globs_meet(other, first)
    if fnmatch.fnmatchcase(text, first) and fnmatch.fnmatchcase(text, other):
        assert globs_meet(first, other)


def test_facts_about_families() -> None:
    assert families() == ("al2", "al2023", "bottlerocket", "windows2019", "windows2022", "windows2025")
    assert "windows2025" not in families(v("1.8.0"))
    assert "al2" not in families(NEWEST, KubernetesVersion(1, 33))
    assert family_title("al2023") == "Amazon Linux 2023"
    for family in families():
        assert not find(alias(family_example(family)), NEWEST, "1.35" if "2025" in family else None).unknown
        assert find(alias(family_example(family))).images
    with pytest.raises(KeyError):
        alias_images("ubuntu", NEWEST)
    assert all(provenance())


def test_who_has_an_image() -> None:
    assert aliases_with("arm64", "nvidia", v("1.3.8")) == ("bottlerocket",)
    assert aliases_with("arm64", "nvidia", v("1.4.0")) == ("al2023", "bottlerocket")
    assert aliases_with("amd64", "neuron", v("1.2.1")) == ("al2", "al2023")
    assert aliases_with("amd64", "neuron", NEWEST, KubernetesVersion(1, 33)) == ("al2023", "bottlerocket")
    assert image_since("al2023", "arm64", "nvidia", v("1.2.0")) == v("1.4.0")
    assert image_since("bottlerocket", "amd64", "neuron", v("1.1.0")) == v("1.2.2")
    assert image_since("al2", "arm64", "nvidia", v("1.0.0")) is None


def test_releases_that_find_no_deprecated_image_say_so_of_pins() -> None:
    assert find(alias("al2023@v20240625"), v("1.0.14")).notes
    assert not find(alias("al2023@latest"), v("1.0.14")).notes
    assert not find(alias("al2023@v20240625"), v("1.1.0")).notes
