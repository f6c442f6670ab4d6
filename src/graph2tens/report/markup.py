"""HTML and SVG as trees: text and attributes are escaped when the tree is written, so no record can smuggle markup into a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from xml.etree.ElementTree import Element, fromstring, tostring

Child = Element | str | int | None | Iterable["Child"]


def h(tag: str, *children: Child, **attributes: str | float | bool | None) -> Element:
    """An element: ``class_`` is ``class``, other underscores are hyphens. ``True`` gives an attribute without value, ``None`` none."""
    element = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            element.set(name.rstrip("_").replace("_", "-"), "" if value is True else _text(value))
    _append(element, children)
    return element


def _append(element: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, Element):
        element.append(child)
    elif isinstance(child, str | int):
        if len(element):
            element[-1].tail = (element[-1].tail or "") + str(child)
        else:
            element.text = (element.text or "") + str(child)
    else:
        for grandchild in child:
            _append(element, grandchild)


def _text(value: str | float) -> str:
    """Coordinates with one decimal keep a page of ten thousand dots small."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def asset(name: str, package: str = __package__) -> str:
    """A file of a package's ``assets`` folder."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def fragment(name: str, package: str) -> Element:
    """A passage of prose among a package's assets: HTML that is also XML."""
    return fromstring(asset(name, package))


def _fingerprint(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page(title: str, body: Iterable[Child]) -> str:
    """A self-contained page. Its own security policy forbids every request and every script or style but the two it carries."""
    style, script = asset("report.css"), asset("report.js")
    allowed = f"style-src {_fingerprint(style)}; script-src {_fingerprint(script)}; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = [
        h("meta", http_equiv="Content-Security-Policy", content=policy),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("meta", name="generator", content="graph2tens report"),
        h("link", rel="icon", href="data:,"),
        h("title", title),
        h("style", style),
    ]
    content = h("body", *body, h("script", script))
    named = (picture for picture in content.iter("svg") if picture.get("aria-hidden") is None)
    for number, picture in enumerate(named):  # a picture's name and description, found by their ids
        for part, role in ((picture[0], "aria-labelledby"), (picture[1], "aria-describedby")):
            part.set("id", f"picture-{number}-{part.tag}")
            picture.set(role, f"picture-{number}-{part.tag}")
    document = h("html", h("head", h("meta", charset="utf-8"), head), content, lang="en")
    return "<!doctype html>\n" + tostring(document, encoding="unicode", method="html") + "\n"
