"""Loops: pools and classes of the items of a map or list, each with a value that is not known and one that is."""

from __future__ import annotations

from random import Random

from tests.plan.law.made import CLASS, POOL, Maker, Tree

WAYS = (
    "range over a map",
    "range over a list",
    "range over a map of another file",
    "for_each of a resource",
    "for_each of a module",
    "for_each of a set",
    "count of a list",
    "a filtered map",
    "a count that is not known",
)
CHART = "apiVersion: v2\nname: nodes\nversion: 0.1.0\n"


def make(random: Random) -> Tree:
    """Return a tree of one of these ways."""
    maker = Maker(random)
    way = maker.pick(*WAYS)
    (_make_chart if way.startswith("range") else _make_terraform)(maker, way)
    maker.add("README.md", f"A text: {maker.decoy('README.md')}\n")
    return maker.tree("loop")


def _objects(name: str, value: str) -> str:
    pool = POOL.replace("METADATA", "").replace("name: web", f"name: {name}")
    return f"{pool}---\n{CLASS.replace('name: web', f'name: {name}')}  tags:\n    team: {value}\n"


def _make_chart(maker: Maker, way: str) -> None:
    by_list = way.endswith("list")
    head = "range .Values.pools" if by_list else "range $name, $pool := .Values.pools"
    name, item = ("{{ .name }}", ".") if by_list else ("{{ $name }}", "$pool.")
    value = maker.pick(
        f"{{{{ {item}team }}}}-{{{{ $.Values.cluster }}}}",
        f"{{{{ $.Values.cluster | default {item}team }}}}",
        f"{{{{ {item}team | default $.Values.cluster }}}}",
        f'{{{{ printf "%s-%s" {item}team $.Values.cluster }}}}',
    )
    maker.add("chart/Chart.yaml", CHART)
    maker.add("chart/templates/all.yaml", f"{{{{- {head} }}}}\n---\n{_objects(name, value)}{{{{- end }}}}\n")
    own = "chart/values.yaml"
    path = "chart/values-prod.yaml" if way.endswith("file") else own
    maker.add(own, f"cluster: ''\nother: {maker.decoy(own)}\n" + ("pools: {}\n" if path != own else ""))
    maker.add(path, "pools:\n")
    for number in range(maker.random.randint(1, 3)):
        fields = f"team: {maker.input(path)}"
        # What a loop over a list uses of an item is not told apart: its whole item counts.
        fields += "" if by_list else f", note: {maker.decoy(path)}"
        maker.add(path, f"  - {{name: p{number}, {fields}}}\n" if by_list else f"  p{number}: {{{fields}}}\n")


def _make_terraform(maker: Maker, way: str) -> None:
    main = "main.tf"
    maker.add(main, f'variable "u" {{\n  description = "{maker.decoy(main)}"\n}}\n')
    items = "".join(
        f'    p{number} = {{ team = "{maker.input(main)}", note = "{maker.decoy(main)}", on = var.u != "a" }}\n'
        for number in range(maker.random.randint(1, 3))
    )
    maker.add(main, f"locals {{\n  pools = {{\n{items}  }}\n}}\n")
    value = maker.pick('"${V}-${var.u}"', "coalesce(var.u, V)", 'var.u == "a" ? V : "z"')
    if way == "for_each of a module":
        maker.add("nodes/main.tf", 'variable "name" {}\nvariable "team" {}\nvariable "note" {}\nvariable "u" {}\n')
        maker.add("nodes/main.tf", _blocks(value.replace("V", "var.team"), "${var.name}", ""))
        given = "  name = each.key\n  team = each.value.team\n  note = each.value.note\n  u = var.u\n"
        maker.add(main, f'module "nodes" {{\n  source = "./nodes"\n  for_each = local.pools\n{given}}}\n')
        return
    over, key, item = {
        "for_each of a resource": ("for_each = local.pools", "${each.key}", "each.value.team"),
        "for_each of a set": ("for_each = toset(keys(local.pools))", "${each.key}", "local.pools[each.key].team"),
        "count of a list": (
            "count = length(local.pools)",
            "p${count.index}",
            "values(local.pools)[count.index].team",
        ),
        "a filtered map": (
            "for_each = { for k, v in local.pools : k => v.team if v.on }",
            "${each.key}",
            "each.value",
        ),
        "a count that is not known": ('count = var.u == "a" ? 1 : 0', "web", "local.pools.p0.team"),
    }[way]
    if way in ("for_each of a set", "count of a list", "a filtered map"):  # what a function takes is not told apart
        maker.outside[:] = [change for change in maker.outside if f'note = "{change[1]}"' not in items]
    if way == "a count that is not known":
        maker.inputs[:] = maker.inputs[:1]
    maker.add(main, _blocks(value.replace("V", item), key, f"  {over}\n"))


def _blocks(value: str, name: str, more: str) -> str:
    made = []
    for number, text in enumerate(_objects(name, f"${{{value}}}").split("---\n")):
        body = "".join(f"    {line}\n" for line in text.splitlines())
        made.append(f'resource "kubectl_manifest" "m{number}" {{\n{more}  yaml_body = <<-YAML\n{body}  YAML\n}}\n')
    return "".join(made)
