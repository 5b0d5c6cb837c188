"""Texts that models and people could write to make a page run something, leave, or look like another."""

from __future__ import annotations

import json

from promptpex.report.page.script import SORTING, script
from tests.report.test_html_page import EVIL
from tests.web.browser import Page

HOSTILE = (
    EVIL,
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"</script><script>alert(1)//',
    "<!--<script>alert(1)</script>-->",
    "</title></style></textarea></noscript></template><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    "<svg><script>alert&#40;1&#41;</script></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object data='data:text/html,<script>alert(1)</script>'></object><embed src='javascript:alert(1)'>",
    "<a href='javascript:alert(1)' autofocus onfocus=alert(1) tabindex=0>click</a>",
    "<form action='javascript:alert(1)'><button autofocus>go</button><input name=children></form>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'><base href='http://127.0.0.2/'>",
    "<link rel=stylesheet href='http://127.0.0.2/x.css'><style>@import 'http://127.0.0.2/y.css';</style>",
    '" onmouseover="alert(1)" autofocus onfocus="alert(1)',
    "' onfocus='alert(1)' autofocus tabindex='1",
    "` onfocus=alert(1) autofocus `",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "{{ 7 * 7 }} {% for x in range(9) %}{{ x }}{% endfor %} ${alert(1)} <%= 7 * 7 %> #{7*7}",
    "{{ self.__init__.__globals__.__builtins__.__import__('os').system('true') }}",
    "&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp; &#60;script&#62;alert(1)&#x3C;/script&#x3E;",
    "\u003cscript\u003ealert(1)\u003c/script\u003e \\u003cscript\\u003ealert(1)",
    "safe \u202egnp.exe\u202c \u2066\u2067right\u2069 \u200e\u200f\u061c end",
    "\x00\x01\x07\x08\x0b\x0c\x1b[31m\x1b]8;;http://127.0.0.2\x07 \x7f\x80\x9b\x85 \u2028\u2029 \ufeff\ufffe",
    "\ud800 lone surrogates \udfff",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324" * 30,
    "שלום עולם, مرحبا بالعالم: 1 + 1 = 2 (abc)",
    "日本語の長い文章がここに続きます。" * 20,
    "x" * 20_000,
    "\n" * 300,
    "</td></tr></table></main></body></html><script>alert(1)</script>",
    "]]></svg><script>alert(1)</script><?xml version='1.0'?><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>",
    "constructor __proto__ toString hasOwnProperty",
)

_RUNS_SOMETHING = """((OURS) => {
  const wrong = [];
  for (const one of document.querySelectorAll('*')) {
    if (['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'IMG', 'MATH', 'FRAME', 'APPLET'].includes(one.tagName.toUpperCase()))
      wrong.push(one.tagName);
    if (one.tagName.toUpperCase() === 'SCRIPT' && !one.src.startsWith(location.origin + '/static/')
        && !OURS.includes(one.text))
      wrong.push('script ' + one.src + one.text.slice(0, 80));
    if (one.tagName.toUpperCase() === 'STYLE' && /@import|url\\(|http/.test(one.textContent)) wrong.push('style');
    for (const {name, value} of one.attributes) {
      if (name.startsWith('on') || name === 'srcdoc' || name === 'style') wrong.push(one.tagName + ' ' + name);
      if (['href', 'src', 'action', 'formaction', 'xlink:href', 'data'].includes(name)
          && !(new URL(value, location.href)).href.startsWith(location.origin + '/')) wrong.push(name + '=' + value);
    }
  }
  return wrong;
})"""
RUNS_SOMETHING = f"{_RUNS_SOMETHING}({json.dumps([script(), script(SORTING)])})"
"""What in the document of a page of ours could run something or lead elsewhere."""


async def assert_nothing_runs(page: Page, address: str, expected: str) -> None:
    """Opens an address without the protection of its policies, so that escaping alone has to hold, and with it.

    Args:
        expected: a text that is on the page: it is the one that was meant.
    """
    origin = "/".join(address.split("/")[:3])
    for bypassed in (True, False):
        await page.call("Page.setBypassCSP", enabled=bypassed)
        for messages in (page.dialogs, page.console, page.failures, page.requests):
            messages.clear()
        await page.open(address)
        await page.until_text(expected)
        assert await page.evaluate("location.href") == address
        assert await page.evaluate(RUNS_SOMETHING) == []
        await page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert (page.dialogs, page.console, page.failures) == ([], [], [])
        assert {request for request in page.requests if not request.startswith(f"{origin}/")} == set()
