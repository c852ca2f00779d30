"""The additional style of the page of `pools_html`."""

from __future__ import annotations

POOLS_STYLE = """
:root{--amd:#0969da;--arm:#bc4c00}
@media(prefers-color-scheme:dark){:root{--amd:#58a6ff;--arm:#f0883e}}
main{overflow-wrap:anywhere}section{margin:1.5rem 0}section>h2{margin-bottom:.25rem}.step b{white-space:nowrap}
.index .count{color:var(--quiet)}
.chart{display:block;width:100%;height:auto}.chart text{fill:var(--quiet);font:11px system-ui,sans-serif}
.chart .tick,.chart .axis{text-anchor:middle}.chart .side{text-anchor:end}
.grid{stroke:var(--line);stroke-width:1;fill:none}
.chart .amd64{fill:var(--amd);fill-opacity:.6}.chart .arm64{fill:var(--arm);fill-opacity:.7}
.chart .other{fill:var(--quiet)}
.key{display:inline-block;width:.7em;height:.7em;border-radius:50%;background:var(--amd)}
.key.arm64{background:var(--arm);border-radius:0;transform:rotate(45deg)}
.quiet .key{margin-right:.15em}.quiet>span{margin-right:.75em}
.matrix{width:auto}.matrix th,.matrix td{padding:.3rem .5rem;text-align:right;font-variant-numeric:tabular-nums}
.matrix th[scope=row]{text-align:left;font-weight:400}
.matrix td[style]{background:color-mix(in srgb,var(--bar) calc(var(--share)*.35),transparent)}
.matrix .own{font-weight:600;color:var(--quiet)}
.stacked td{padding-right:1rem}.stacked td div{margin-bottom:.25rem}
.stacked tr.all .taken{color:var(--red)}.stacked tr.some .taken{color:var(--amber)}
.stacked tr.none .taken{color:var(--green)}
@media(min-width:40.01rem){.stacked{table-layout:fixed}.stacked th:nth-child(1){width:30%}
.stacked th:nth-child(2){width:24%}}
@media(max-width:40rem){main{padding:1rem .75rem 3rem}.types td,.types th{padding-right:.4rem}}
"""
