"""The parts of all HTML pages: their frame without network access, tables, lists and bars.

A part takes HTML and returns HTML; `escaped`, `code` and `inline_code` make HTML of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from nodelint.base.printable import printable, screened, writable

STYLE = """
:root{color-scheme:light dark;--back:#fff;--ink:#1b1f24;--quiet:#59636e;--line:#d1d9e0;--card:#f6f8fa;--bar:#0969da;
--red:#c4232b;--amber:#8f5a00;--green:#1a7f37;--closed:#c4232b;--limited:#d4a72c;--open:#d1d9e0}
@media(prefers-color-scheme:dark){:root{--back:#0d1117;--ink:#e6edf3;--quiet:#9198a1;--line:#3d444d;--card:#151b23;
--bar:#4493f8;--red:#ff7b72;--amber:#e3b341;--green:#56d364;--closed:#da3633;--limited:#9e6a03;--open:#3d444d}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.25rem;margin:0;overflow-wrap:anywhere}
h3{font-size:1rem;margin:1.5rem 0 .5rem}h4{margin:0 0 .5rem;font-size:.875rem;color:var(--quiet)}
code{font:.875em ui-monospace,monospace;overflow-wrap:anywhere}td code{overflow-wrap:break-word}
.lead{margin:0;font-size:1.125rem}.quiet{color:var(--quiet);font-size:.875rem;margin:.25rem 0}
.sign{font-family:ui-monospace,monospace;color:var(--quiet);white-space:pre}
.index{list-style:none;margin:1rem 0;padding:0;border-top:1px solid var(--line)}
.index li{display:flex;flex-wrap:wrap;gap:0 1rem;padding:.5rem 0;border-bottom:1px solid var(--line)}
.index a{min-width:10rem}.index .all span{color:var(--red)}.index .some span,.index .unknown span{color:var(--amber)}
a{color:var(--bar)}
.pool{border:1px solid var(--line);border-left:.3rem solid
var(--green);border-radius:.4rem;padding:1rem;margin:1.5rem 0}
.pool.all{border-left-color:var(--red)}.pool.some,.pool.unknown{border-left-color:var(--amber)}
.verdict{font-weight:600;margin:.25rem 0;color:var(--green)}.all .verdict{color:var(--red)} .some .verdict,.unknown
.verdict{color:var(--amber)}.refused{color:var(--amber)} .scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.875rem}
th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.types td,.types th{white-space:nowrap;font-variant-numeric:tabular-nums}
.week{display:flex;height:1.75rem;border-radius:.25rem;overflow:hidden;border:1px solid var(--line)}
.week
i{display:block}.closed{background:var(--closed)}.limited{background:var(--limited)}.open{background:var(--open)}
b.closed,b.limited,b.open{display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin-left:.75em}
.days{display:grid;grid-template-columns:repeat(7,1fr);font-size:.75rem;color:var(--quiet)}
.funnels{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem}
.funnels>div{background:var(--card);border-radius:.4rem;padding:.75rem} .step{position:relative;padding:.1rem 0
.45rem;font-size:.8125rem;display:flex;gap:.6rem} .step
i{position:absolute;left:0;bottom:.1rem;height:.25rem;background:var(--bar);border-radius:.15rem} .step
b{min-width:3.2rem;text-align:right;font-variant-numeric:tabular-nums}.step span{overflow-wrap:anywhere}
.plain{list-style:none;padding:0;margin:0} details{margin-top:1rem}summary{cursor:pointer;padding:.4rem 0}
.filter{width:100%;font:inherit;padding:.5rem;margin:.5rem 0;color:inherit;background:var(--card);
border:1px solid var(--line);border-radius:.3rem}
tr.lost td:first-child{color:var(--red)}tr.gained td:first-child{color:var(--green)}
.quiet span{white-space:nowrap}
@media(min-width:40.01rem){.gaps td:last-child{min-width:14rem}}
@media(max-width:40rem){.reasons th{display:none}.reasons td{display:block;border:0;padding:.1rem 0}
.reasons tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}}
:focus-visible{outline:2px solid var(--bar);outline-offset:2px}
"""

SCRIPT = """
for (const box of document.querySelectorAll(".filter")) {
  const rows = [...box.parentElement.querySelectorAll("tr")].slice(1);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
"""


def html_page(title: str, lead: str, body: str, own_style: str = "", has_script: bool = True) -> str:
    """Return a complete page. `title` is plain text; `lead`, the sentence below it, and `body` are HTML."""
    sources = "default-src 'none'; style-src 'unsafe-inline'" + ("; script-src 'unsafe-inline'" if has_script else "")
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{sources}">'
        f"<title>{escaped(title)}</title><style>{STYLE}{own_style}</style></head><body><main>"
        f"<h1>{escaped(title)}</h1><p class=lead>{lead}</p>{body}"
        f"</main>{f'<script>{SCRIPT}</script>' if has_script else ''}</body></html>\n"
    )
    return screened(writable(page))


def section(title: str, body: str, kind: str = "") -> str:
    """Return a section of a page, its title of the class `kind`; empty without a body."""
    return f"<section><h2{_class(kind)}>{title}</h2>{body}</section>" if body else ""


def table(heads: Sequence[str], rows: Iterable[str], kind: str = "", *, scrolls: bool = True) -> str:
    """Return a table of `table_row`s, of the classes `kind`; empty without rows. If it `scrolls`, it may be wide."""
    body = "".join(rows)
    if not body:
        return ""
    made = f"<table{_class(kind)}>{table_row(*heads, tag='th')}{body}</table>"
    return f"<div class=scroll>{made}</div>" if scrolls else made


def table_row(*cells: str, kind: str = "", tag: str = "td") -> str:
    """Return a row of a table."""
    return f"<tr{_class(kind)}>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"


def bullets(items: Iterable[str], kind: str = "") -> str:
    """Return a list; empty without items."""
    body = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul{_class(kind)}>{body}</ul>" if body else ""


def bars(rows: Iterable[tuple[str, int]]) -> str:
    """Return a bar for each number of instance types with its words, as a share of the first number."""
    shown = list(rows)
    total = max(shown[0][1], 1)
    return "".join(bar(left / total, f"{left:,}", escaped(words)) for words, left in shown)


def bar(share: float, number: str, words: str) -> str:
    """Return a bar that fills a `share` of the line, from 0 to 1."""
    return f'<div class=step><i style="width:{share * 100:.2f}%"></i><b>{number}</b><span>{words}</span></div>'


def _class(kind: str) -> str:
    return f" class={kind}" if kind and " " not in kind else f" class='{kind}'" if kind else ""


def code(text: object) -> str:
    """Return a text of the project as HTML code."""
    return f"<code>{escaped(text)}</code>"


def escaped(text: object) -> str:
    """Return plain text as HTML."""
    return escape(printable(str(text)))


def inline_code(text: str) -> str:
    """Return a message as HTML. Text between backticks becomes code; unpaired backticks stay."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(f"<code>{escaped(part)}</code>" if n % 2 else escaped(part) for n, part in enumerate(parts))
